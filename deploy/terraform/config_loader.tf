# Stores the text of pipeline, calendar, archetype and source files in rows of the control table.
# The functions parse the YAML, because Terraform reads dates and words such as "yes" differently.
# Terraform reads only the id or name in a file.
locals {
  yaml = "**/*.{yaml,yml}"

  pipeline_files  = var.pipelines_path == null ? {} : { for f in fileset(var.pipelines_path, local.yaml) : f => file("${var.pipelines_path}/${f}") }
  calendar_files  = var.calendars_path == null ? {} : { for f in fileset(var.calendars_path, local.yaml) : f => file("${var.calendars_path}/${f}") }
  archetype_files = var.archetypes_path == null ? {} : { for f in fileset(var.archetypes_path, local.yaml) : f => file("${var.archetypes_path}/${f}") }
  source_files    = var.sources_path == null ? {} : { for f in fileset(var.sources_path, local.yaml) : f => file("${var.sources_path}/${f}") }

  # By the id in the file, not by the file's name. Terraform reports two files with the same id.
  pipelines  = { for f, text in local.pipeline_files : yamldecode(text).pipeline.id => text }
  calendars  = { for f, text in local.calendar_files : yamldecode(text).name => text }
  archetypes = { for f, text in local.archetype_files : yamldecode(text).name => text }
  sources    = { for f, text in local.source_files : yamldecode(text).source.id => text }
}

# Interlock checks all files against the limits of this platform.
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

# With files_checked_by = "function", the deployed function checks the files, after its deployment
# and before any file is stored.
data "aws_lambda_invocation" "check" {
  count = length(local.pipeline_files) > 0 && var.files_checked_by == "function" ? 1 : 0

  function_name = aws_lambda_function.this["stream-router"].function_name
  qualifier     = aws_lambda_alias.live["stream-router"].name
  input         = jsonencode({ check = { pipelines = local.pipeline_files, calendars = local.calendar_files, archetypes = local.archetype_files, sources = local.source_files } })

  lifecycle {
    postcondition {
      condition     = jsondecode(self.result).problems == ""
      error_message = "The pipeline files have errors:\n${jsondecode(self.result).problems}"
    }
  }
}

# The plan shows warnings but does not fail.
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
    list   = { S = "FILE" } # the partition that lists all files
    place  = { S = each.key }
    config = { S = each.value }
  })
}
