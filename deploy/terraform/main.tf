# Interlock on AWS as a module. docs/AWS.md describes its use. The caller configures the provider.
data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  prefix    = "${var.environment}-interlock"
  global    = "${local.prefix}-${local.region}" # for roles and dashboards, whose names are of the account
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.id
  tags      = merge({ Application = "interlock", Environment = var.environment }, var.tags)

  # ARNs that resources need of each other are built from names, to avoid dependency cycles.
  arn = {
    lambda    = "arn:${local.partition}:lambda:${local.region}:${local.account}:function"
    states    = "arn:${local.partition}:states:${local.region}:${local.account}"
    scheduler = "arn:${local.partition}:scheduler:${local.region}:${local.account}"
    logs      = "arn:${local.partition}:logs:${local.region}:${local.account}"
    events    = "arn:${local.partition}:events:${local.region}:${local.account}"
    alarms    = "arn:${local.partition}:cloudwatch:${local.region}:${local.account}:alarm"
  }
}

# One key for tables, queues, the bus, logs and the functions' variables. The policy of your own key
# (kms_key_arn) must allow the same services.
resource "aws_kms_key" "this" {
  count = var.kms_key_arn == null ? 1 : 0

  description         = "${local.prefix}: tables, queues, events and logs"
  enable_key_rotation = true
  policy              = data.aws_iam_policy_document.key.json
  tags                = local.tags
}

resource "aws_kms_alias" "this" {
  count = var.kms_key_arn == null ? 1 : 0

  name          = "alias/${local.prefix}"
  target_key_id = aws_kms_key.this[0].key_id
}

locals {
  kms_key_arn = var.kms_key_arn == null ? aws_kms_key.this[0].arn : var.kms_key_arn

  # To use a key for stored data.
  key_actions = [
    "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
  ]
}

# In a key policy "*" means this key.
data "aws_iam_policy_document" "key" {
  statement {
    sid       = "Account"
    actions   = ["kms:*"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:${local.partition}:iam::${local.account}:root"]
    }
  }

  # EventBridge describes the key when the bus is created, and then encrypts events on the bus and
  # in encrypted queues.
  statement {
    sid       = "EventBridgeLooks"
    actions   = ["kms:DescribeKey"]
    resources = ["*"]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
  }

  statement {
    sid       = "EventBridge"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = ["*"]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account]
    }
  }

  statement {
    sid       = "Logs"
    actions   = local.key_actions
    resources = ["*"]
    principals {
      type        = "Service"
      identifiers = ["logs.${local.region}.amazonaws.com"]
    }
    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["${local.arn.logs}:log-group:/aws/lambda/${local.prefix}-*", "${local.arn.logs}:log-group:/aws/vendedlogs/states/${local.prefix}-*"]
    }
  }
}
