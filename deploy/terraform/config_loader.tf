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

# The deployed function checks the files against the limits of this platform, before a row changes.
# If the apply also changes functions, it does so after them, since they decide what files may use.
data "aws_lambda_invocation" "check" {
  count = length(local.pipeline_files) > 0 ? 1 : 0

  function_name = aws_lambda_function.this["stream-router"].function_name
  qualifier     = aws_lambda_alias.live["stream-router"].name
  depends_on    = [aws_lambda_alias.live]

  # Lambda takes 6 MB per call; compressed, that is many thousands of files.
  input = jsonencode({ check = base64gzip(jsonencode({
    pipelines = local.pipeline_files, calendars = local.calendar_files, archetypes = local.archetype_files, sources = local.source_files
  })) })

  lifecycle {
    postcondition {
      condition     = jsondecode(self.result).problems == ""
      error_message = "The pipeline files have errors:\n${jsondecode(self.result).problems}"
    }
  }
}

# Warnings are shown but fail nothing.
check "files" {
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
  depends_on = [data.aws_lambda_invocation.check]

  item = jsonencode({
    PK     = { S = each.key }
    SK     = { S = "CONFIG" }
    list   = { S = "FILE" } # the partition that lists all files
    place  = { S = each.key }
    config = { S = each.value }
  })
}
