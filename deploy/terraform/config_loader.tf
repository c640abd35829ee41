# Pipeline, calendar, archetype and source files become rows of the control table, as they are written: reading YAML is left to the
# functions, because Terraform reads a date or a "yes" otherwise. Only a file's own name is looked up here.
locals {
  yaml = "**/*.{yaml,yml}"

  pipeline_files  = var.pipelines_path == null ? {} : { for f in fileset(var.pipelines_path, local.yaml) : f => file("${var.pipelines_path}/${f}") }
  calendar_files  = var.calendars_path == null ? {} : { for f in fileset(var.calendars_path, local.yaml) : f => file("${var.calendars_path}/${f}") }
  archetype_files = var.archetypes_path == null ? {} : { for f in fileset(var.archetypes_path, local.yaml) : f => file("${var.archetypes_path}/${f}") }
  source_files    = var.sources_path == null ? {} : { for f in fileset(var.sources_path, local.yaml) : f => file("${var.sources_path}/${f}") }

  # By the id in the file, not by the file's name. Two files of one id are an error of Terraform's, which names it.
  pipelines  = { for f, text in local.pipeline_files : yamldecode(text).pipeline.id => text }
  calendars  = { for f, text in local.calendar_files : yamldecode(text).name => text }
  archetypes = { for f, text in local.archetype_files : yamldecode(text).name => text }
  sources    = { for f, text in local.source_files : yamldecode(text).source.id => text }
}

# All of them are checked by Interlock itself, with the limits of this platform.
data "external" "check" {
  count = length(local.pipeline_files) > 0 && var.files_checked_by == "command" ? 1 : 0

  program = concat(["sh", "${path.module}/check.sh", var.interlock_path, "${var.sfn_timeout_seconds}s",
    local.offers_environment.JOB_TYPES, local.offers_environment.SECRET_VARIABLES,
    local.offers_environment.JOB_SECRET_ARNS, local.offers_environment.JOB_PARAMETER_ARNS],
  [for path in [var.pipelines_path, var.calendars_path, var.archetypes_path, var.sources_path] : abspath(path) if path != null])

  lifecycle {
    postcondition {
      condition     = self.result.problems == ""
      error_message = "The pipeline files have errors:\n${self.result.problems}"
    }
  }
}

# Where there is no command, the deployed function checks them: once it is there, which is before any file is put.
data "aws_lambda_invocation" "check" {
  count = length(local.pipeline_files) > 0 && var.files_checked_by == "function" ? 1 : 0

  function_name = aws_lambda_function.this["stream-router"].function_name
  input         = jsonencode({ check = { pipelines = local.pipeline_files, calendars = local.calendar_files, archetypes = local.archetype_files, sources = local.source_files } })

  lifecycle {
    postcondition {
      condition     = jsondecode(self.result).problems == ""
      error_message = "The pipeline files have errors:\n${jsondecode(self.result).problems}"
    }
  }
}

# A warning does not fail the plan, and is shown in it.
check "files" {
  assert {
    condition     = alltrue([for c in data.external.check : c.result.warnings == ""])
    error_message = "The pipeline files have warnings:\n${join("\n", [for c in data.external.check : c.result.warnings])}"
  }

  assert {
    condition     = alltrue([for c in data.aws_lambda_invocation.check : jsondecode(c.result).warnings == ""])
    error_message = "The pipeline files have warnings:\n${join("\n", [for c in data.aws_lambda_invocation.check : jsondecode(c.result).warnings])}"
  }
}

locals {
  rows = merge(
    { for id, text in local.pipelines : "PIPELINE#${id}" => text },
    { for name, text in local.calendars : "CALENDAR#${name}" => text },
    { for name, text in local.archetypes : "ARCHETYPE#${name}" => text },
    { for id, text in local.sources : "SOURCE#${id}" => text },
  )
}

resource "aws_dynamodb_table_item" "file" {
  for_each = local.rows

  table_name = aws_dynamodb_table.control.name
  hash_key   = "PK"
  range_key  = "SK"
  depends_on = [data.external.check, data.aws_lambda_invocation.check]

  item = jsonencode({
    PK     = { S = each.key }
    SK     = { S = "CONFIG" }
    list   = { S = "FILE" } # what all of them are found by
    place  = { S = each.key }
    config = { S = each.value }
  })
}
