# The four tables. Their keys and indexes match internal/store/dynamo; a test compares them.
# docs/DYNAMODB.md describes them. DynamoDB cannot add a local index to an existing table.

# Pipelines, sensors, runs, tasks, deadlines.
resource "aws_dynamodb_table" "control" {
  name                        = "${local.prefix}-control"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "PK"
  range_key                   = "SK"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags
  stream_enabled              = true
  stream_view_type            = "NEW_IMAGE"

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "SK"
    type = "S"
  }

  attribute {
    name = "ordered"
    type = "S"
  }

  attribute {
    name = "unfinished"
    type = "S"
  }

  attribute {
    name = "place"
    type = "S"
  }

  attribute {
    name = "pendingPlace"
    type = "S"
  }

  attribute {
    name = "list"
    type = "S"
  }

  attribute {
    name = "pending"
    type = "S"
  }

  attribute {
    name = "aging"
    type = "S"
  }

  attribute {
    name = "agedAt"
    type = "S"
  }

  local_secondary_index {
    name            = "ordered"
    range_key       = "ordered"
    projection_type = "KEYS_ONLY"
  }

  local_secondary_index {
    name            = "unfinished"
    range_key       = "unfinished"
    projection_type = "KEYS_ONLY"
  }

  global_secondary_index {
    name            = "listed"
    hash_key        = "list"
    range_key       = "place"
    projection_type = "KEYS_ONLY"
  }

  global_secondary_index {
    name            = "pending"
    hash_key        = "pending"
    range_key       = "pendingPlace"
    projection_type = "KEYS_ONLY"
  }

  global_secondary_index {
    name            = "aging"
    hash_key        = "aging"
    range_key       = "agedAt"
    projection_type = "KEYS_ONLY"
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = local.kms_key_arn
  }
}

# The job log.
resource "aws_dynamodb_table" "joblog" {
  name                        = "${local.prefix}-joblog"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "PK"
  range_key                   = "SK"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags
  stream_enabled              = true
  stream_view_type            = "NEW_IMAGE"

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "SK"
    type = "S"
  }

  attribute {
    name = "aging"
    type = "S"
  }

  attribute {
    name = "agedAt"
    type = "S"
  }

  global_secondary_index {
    name            = "aging"
    hash_key        = "aging"
    range_key       = "agedAt"
    projection_type = "KEYS_ONLY"
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = local.kms_key_arn
  }
}

# Rerun requests with their answers.
resource "aws_dynamodb_table" "rerun" {
  name                        = "${local.prefix}-rerun"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "PK"
  range_key                   = "SK"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "SK"
    type = "S"
  }

  attribute {
    name = "aging"
    type = "S"
  }

  attribute {
    name = "agedAt"
    type = "S"
  }

  global_secondary_index {
    name            = "aging"
    hash_key        = "aging"
    range_key       = "agedAt"
    projection_type = "KEYS_ONLY"
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = local.kms_key_arn
  }
}

# All events, and the state of alerts.
resource "aws_dynamodb_table" "events" {
  name                        = "${local.prefix}-events"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "PK"
  range_key                   = "SK"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "SK"
    type = "S"
  }

  attribute {
    name = "position"
    type = "S"
  }

  attribute {
    name = "eventType"
    type = "S"
  }

  attribute {
    name = "timestamp"
    type = "N"
  }

  attribute {
    name = "aging"
    type = "S"
  }

  attribute {
    name = "agedAt"
    type = "S"
  }

  local_secondary_index {
    name            = "byPosition"
    range_key       = "position"
    projection_type = "KEYS_ONLY"
  }

  global_secondary_index {
    name            = "GSI1"
    hash_key        = "eventType"
    range_key       = "timestamp"
    projection_type = "ALL"
  }

  global_secondary_index {
    name            = "aging"
    hash_key        = "aging"
    range_key       = "agedAt"
    projection_type = "KEYS_ONLY"
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = local.kms_key_arn
  }
}
