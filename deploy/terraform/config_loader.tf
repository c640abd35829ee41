# Pipeline, calendar and archetype files become rows of the control table, as they are written: reading YAML is left to the
# functions, because Terraform reads a date or a "yes" otherwise. Only a file's own name is looked up here.
locals {
  yaml = "**/*.{yaml,yml}"

  pipeline_files  = var.pipelines_path == null ? {} : { for f in fileset(var.pipelines_path, local.yaml) : f => file("${var.pipelines_path}/${f}") }
  calendar_files  = var.calendars_path == null ? {} : { for f in fileset(var.calendars_path, local.yaml) : f => file("${var.calendars_path}/${f}") }
  archetype_files = var.archetypes_path == null ? {} : { for f in fileset(var.archetypes_path, local.yaml) : f => file("${var.archetypes_path}/${f}") }

  # By the id in the file, not by the file's name. Two files of one id are an error of Terraform's, which names it.
  pipelines  = { for f, text in local.pipeline_files : yamldecode(text).pipeline.id => text }
  calendars  = { for f, text in local.calendar_files : yamldecode(text).name => text }
  archetypes = { for f, text in local.archetype_files : yamldecode(text).name => text }
}

# All of them are checked by Interlock itself, with the limits of this platform.
data "external" "check" {
  count = length(local.pipeline_files) > 0 ? 1 : 0

  program = concat(["sh", "${path.module}/check.sh", var.interlock_path],
  [for path in [var.pipelines_path, var.calendars_path, var.archetypes_path] : abspath(path) if path != null])

  lifecycle {
    postcondition {
      condition     = self.result.problems == ""
      error_message = "The pipeline files have errors:\n${self.result.problems}"
    }
  }
}

resource "aws_dynamodb_table_item" "pipeline" {
  for_each = local.pipelines

  table_name = aws_dynamodb_table.control.name
  hash_key   = "PK"
  range_key  = "SK"
  item = jsonencode({ PK = { S = "PIPELINE#${each.key}" }, SK = { S = "CONFIG" }, config = { S = each.value },
  list = { S = "FILE" }, place = { S = "FILE#PIPELINE#${each.key}" } })
  depends_on = [data.external.check]
}

resource "aws_dynamodb_table_item" "calendar" {
  for_each = local.calendars

  table_name = aws_dynamodb_table.control.name
  hash_key   = "PK"
  range_key  = "SK"
  item = jsonencode({ PK = { S = "CALENDAR#${each.key}" }, SK = { S = "CONFIG" }, config = { S = each.value },
  list = { S = "FILE" }, place = { S = "FILE#CALENDAR#${each.key}" } })
  depends_on = [data.external.check]
}

resource "aws_dynamodb_table_item" "archetype" {
  for_each = local.archetypes

  table_name = aws_dynamodb_table.control.name
  hash_key   = "PK"
  range_key  = "SK"
  item = jsonencode({ PK = { S = "ARCHETYPE#${each.key}" }, SK = { S = "CONFIG" }, config = { S = each.value },
  list = { S = "FILE" }, place = { S = "FILE#ARCHETYPE#${each.key}" } })
  depends_on = [data.external.check]
}
