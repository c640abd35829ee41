# One role per function and one for each of the two services that invoke them. docs/AWS.md lists the
# permissions.

# Who may assume the roles, and for what. Lambda documents no such condition: only who may pass a
# role decides which function gets it.
data "aws_iam_policy_document" "assume" {
  for_each = {
    lambda    = null
    states    = local.state_machine_arn
    scheduler = aws_scheduler_schedule_group.this.arn
  }

  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["${each.key}.amazonaws.com"]
    }
    dynamic "condition" {
      for_each = each.value == null ? [] : [each.value]
      content {
        test     = "ArnEquals"
        variable = "aws:SourceArn"
        values   = [condition.value]
      }
    }
    dynamic "condition" {
      for_each = each.value == null ? [] : [local.account]
      content {
        test     = "StringEquals"
        variable = "aws:SourceAccount"
        values   = [condition.value]
      }
    }
  }
}

resource "aws_iam_role" "function" {
  for_each = local.functions

  name               = "${local.global}-${each.key}"
  assume_role_policy = data.aws_iam_policy_document.assume["lambda"].json
  tags               = local.tags

  permissions_boundary = var.permissions_boundary_arn

  lifecycle { create_before_destroy = true } # a function always has a role
}

resource "aws_iam_role_policy" "function" {
  for_each = local.functions

  name   = "function"
  role   = aws_iam_role.function[each.key].id
  policy = local.policies[each.key]
}

locals {
  policies = {
    stream-router    = data.aws_iam_policy_document.stream_router.json
    orchestrator     = data.aws_iam_policy_document.orchestrator.json
    sla-monitor      = data.aws_iam_policy_document.sla_monitor.json
    watchdog         = data.aws_iam_policy_document.watchdog.json
    event-sink       = data.aws_iam_policy_document.event_sink.json
    alert-dispatcher = data.aws_iam_policy_document.alert_dispatcher.json
  }
}

# Permissions of every function: write logs and use the key.
data "aws_iam_policy_document" "common" {
  for_each = local.functions

  statement {
    sid       = "Log"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${local.arn.logs}:log-group:/aws/lambda/${local.prefix}-${each.key}:*"]
  }

  statement {
    sid       = "Key"
    actions   = local.key_actions
    resources = [local.kms_key_arn]
    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = [for service in ["dynamodb", "events", "lambda", "sqs"] : "${service}.${local.region}.amazonaws.com"]
    }
  }

  # The ids of network interfaces are unknown before they exist.
  dynamic "statement" {
    for_each = contains(keys(local.networks), each.key) ? [each.key] : []
    content {
      sid = "Network"
      actions = [
        "ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
      ]
      resources = ["*"]
    }
  }

  # Only Lambda itself may use these, not the function's program.
  dynamic "statement" {
    for_each = contains(keys(local.networks), each.key) ? [each.key] : []
    content {
      sid       = "NetworkOfLambda"
      effect    = "Deny"
      actions   = ["ec2:*"]
      resources = ["*"]
      condition {
        test     = "ArnEquals"
        variable = "lambda:SourceFunctionArn"
        values   = [local.function_arns[each.key]]
      }
    }
  }

  # X-Ray actions support no resource ARNs.
  dynamic "statement" {
    for_each = var.xray_tracing ? [each.key] : []
    content {
      sid       = "Trace"
      actions   = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
      resources = ["*"]
    }
  }
}

locals {
  indexes = {
    control = ["aging", "listed", "ordered", "pending", "unfinished"]
    joblog  = ["aging"]
    rerun   = ["aging"]
    events  = ["GSI1", "aging", "byPosition"]
  }

  # Each table with its indexes.
  table_arns = { for name, arn in {
    control = aws_dynamodb_table.control.arn
    joblog  = aws_dynamodb_table.joblog.arn
    rerun   = aws_dynamodb_table.rerun.arn
    events  = aws_dynamodb_table.events.arn
  } : name => concat([arn], [for index in local.indexes[name] : "${arn}/index/${index}"]) }
}

# Permissions of the functions that decide about runs. They emit events as rows of the same
# transaction.
data "aws_iam_policy_document" "tables" {
  statement {
    sid = "Tables"
    actions = [
      "dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem",
      "dynamodb:Query", "dynamodb:UpdateItem",
    ]
    resources = flatten(values(local.table_arns))
  }
}

# Permissions of the functions that start executions and invoke the orchestrator.
data "aws_iam_policy_document" "execute" {
  statement {
    sid       = "Execute"
    actions   = ["states:StartExecution"]
    resources = [local.state_machine_arn]
  }

  statement {
    sid       = "Wake"
    actions   = ["lambda:InvokeFunction"]
    resources = [local.function_arns["orchestrator"]]
  }
}

# Permissions of the functions that create schedules.
data "aws_iam_policy_document" "schedule" {
  statement {
    sid       = "Schedule"
    actions   = ["scheduler:CreateSchedule", "scheduler:DeleteSchedule", "scheduler:UpdateSchedule"]
    resources = ["${local.arn.scheduler}:schedule/${local.prefix}/*"]
  }

  statement {
    sid       = "ScheduleAs"
    actions   = ["iam:PassRole"]
    resources = [aws_iam_role.service["scheduler"].arn]
    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["scheduler.amazonaws.com"]
    }
  }
}

# Permissions of the functions that publish events on the bus.
data "aws_iam_policy_document" "publish" {
  statement {
    sid       = "Publish"
    actions   = ["events:PutEvents"]
    resources = [aws_cloudwatch_event_bus.this.arn]
  }
}

# Lambda sends calls that failed to the dead-letter queue in the role of the function.
data "aws_iam_policy_document" "calls" {
  statement {
    sid       = "DeadCalls"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.dead["calls"].arn]
  }
}

data "aws_iam_policy_document" "stream_router" {
  source_policy_documents = [
    data.aws_iam_policy_document.common["stream-router"].json,
    data.aws_iam_policy_document.tables.json,
    data.aws_iam_policy_document.execute.json,
    data.aws_iam_policy_document.schedule.json,
    data.aws_iam_policy_document.publish.json,
  ]

  statement {
    sid       = "Streams"
    actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
    resources = [aws_dynamodb_table.control.stream_arn, aws_dynamodb_table.joblog.stream_arn]
  }

  # Lists the streams of a table, so it names none.
  statement {
    sid       = "StreamsOfTables"
    actions   = ["dynamodb:ListStreams"]
    resources = ["${aws_dynamodb_table.control.arn}/stream/*", "${aws_dynamodb_table.joblog.arn}/stream/*"]
  }

  statement {
    sid       = "Dead"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.dead["control"].arn, aws_sqs_queue.dead["joblog"].arn]
  }
}

data "aws_iam_policy_document" "sla_monitor" {
  source_policy_documents = [
    data.aws_iam_policy_document.common["sla-monitor"].json,
    data.aws_iam_policy_document.schedule.json,
    data.aws_iam_policy_document.calls.json,
  ]

  # Deadlines and their runs.
  statement {
    sid       = "Control"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
    resources = local.table_arns.control
  }
}

data "aws_iam_policy_document" "watchdog" {
  source_policy_documents = [
    data.aws_iam_policy_document.common["watchdog"].json,
    data.aws_iam_policy_document.tables.json,
    data.aws_iam_policy_document.execute.json,
    data.aws_iam_policy_document.schedule.json,
    data.aws_iam_policy_document.publish.json,
  ]
}

data "aws_iam_policy_document" "event_sink" {
  source_policy_documents = [data.aws_iam_policy_document.common["event-sink"].json]

  statement {
    sid       = "Keep"
    actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.events.arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["EVENT#*", "LOG#*", "LOGS", "PIPELINE#*"]
    }
  }

  statement {
    sid       = "Dead"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.dead["alert"].arn]
  }
}

# The events table also holds Slack threads and delivery records.
data "aws_iam_policy_document" "alert_dispatcher" {
  source_policy_documents = [data.aws_iam_policy_document.common["alert-dispatcher"].json]

  statement {
    sid       = "Queue"
    actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:SendMessage"]
    resources = [aws_sqs_queue.alerts.arn]
  }

  statement {
    sid       = "Events"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"]
    resources = local.table_arns.events
  }

  statement {
    sid       = "Threads"
    actions   = ["dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.events.arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["COMMIT#*", "NOTE#*"]
    }
  }

  dynamic "statement" {
    for_each = var.slack_secret_arn == null ? [] : [var.slack_secret_arn]
    content {
      sid       = "Token"
      actions   = ["secretsmanager:GetSecretValue"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = var.slack_secret_kms_key_arn == null ? [] : [var.slack_secret_kms_key_arn]
    content {
      sid       = "TokenKey"
      actions   = ["kms:Decrypt"]
      resources = [statement.value]
      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = ["secretsmanager.${local.region}.amazonaws.com"]
      }
    }
  }
}

# The orchestrator may start only the types and resources of jobs that the caller enabled and named.
data "aws_iam_policy_document" "orchestrator" {
  source_policy_documents = concat(
    [data.aws_iam_policy_document.common["orchestrator"].json, data.aws_iam_policy_document.tables.json, data.aws_iam_policy_document.calls.json],
    var.enable_glue_trigger ? [data.aws_iam_policy_document.glue.json] : [],
    var.enable_emr_trigger ? [data.aws_iam_policy_document.emr.json] : [],
    var.enable_emr_serverless_trigger ? [data.aws_iam_policy_document.emr_serverless.json] : [],
    var.enable_sfn_trigger ? [data.aws_iam_policy_document.step_function.json] : [],
    var.enable_lambda_trigger ? [data.aws_iam_policy_document.lambda.json] : [],
  )

  dynamic "statement" {
    for_each = length(var.job_secret_arns) > 0 ? [var.job_secret_arns] : []
    content {
      sid       = "Secrets"
      actions   = ["secretsmanager:GetSecretValue"]
      resources = statement.value
    }
  }

  dynamic "statement" {
    for_each = length(var.job_parameter_arns) > 0 ? [var.job_parameter_arns] : []
    content {
      sid       = "Parameters"
      actions   = ["ssm:GetParameter"]
      resources = statement.value
    }
  }

  dynamic "statement" {
    for_each = length(var.job_secret_kms_key_arns) > 0 ? [var.job_secret_kms_key_arns] : []
    content {
      sid       = "SecretKeys"
      actions   = ["kms:Decrypt"]
      resources = statement.value
      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = [for service in ["secretsmanager", "ssm"] : "${service}.${local.region}.amazonaws.com"]
      }
    }
  }
}

data "aws_iam_policy_document" "glue" {
  statement {
    sid       = "Glue"
    actions   = ["glue:BatchStopJobRun", "glue:GetJobRun", "glue:GetJobRuns", "glue:StartJobRun"]
    resources = var.glue_job_arns
  }

  statement {
    sid       = "GlueLogs"
    actions   = ["logs:FilterLogEvents"]
    resources = [for name in var.glue_log_group_names : "${local.arn.logs}:log-group:${name}:*"]
  }
}

data "aws_iam_policy_document" "emr" {
  statement {
    sid = "EMR"
    actions = [
      "elasticmapreduce:AddJobFlowSteps", "elasticmapreduce:CancelSteps", "elasticmapreduce:DescribeCluster", "elasticmapreduce:ListSteps",
    ]
    resources = var.emr_cluster_arns
  }
}

data "aws_iam_policy_document" "emr_serverless" {
  statement {
    sid       = "EMRServerless"
    actions   = ["emr-serverless:GetApplication", "emr-serverless:ListJobRuns", "emr-serverless:StartJobRun"]
    resources = var.emr_serverless_application_arns
  }

  statement {
    sid       = "EMRServerlessRuns"
    actions   = ["emr-serverless:CancelJobRun", "emr-serverless:GetJobRun"]
    resources = [for arn in var.emr_serverless_application_arns : "${arn}/jobruns/*"]
  }

  statement {
    sid       = "EMRServerlessAs"
    actions   = ["iam:PassRole"]
    resources = var.emr_serverless_execution_role_arns
    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["emr-serverless.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "step_function" {
  statement {
    sid       = "StateMachines"
    actions   = ["states:DescribeStateMachine", "states:StartExecution"]
    resources = var.sfn_trigger_arns
  }

  statement {
    sid       = "Executions"
    actions   = ["states:DescribeExecution", "states:StopExecution"]
    resources = [for arn in var.sfn_trigger_arns : "${replace(arn, ":stateMachine:", ":execution:")}:*"]
  }
}

data "aws_iam_policy_document" "lambda" {
  statement {
    sid       = "Functions"
    actions   = ["lambda:InvokeFunction"]
    resources = flatten([for arn in var.lambda_trigger_arns : [arn, "${arn}:*"]])
  }
}

# The services that invoke functions.
resource "aws_iam_role" "service" {
  for_each = toset(["states", "scheduler"])

  name               = "${local.global}-${each.key}"
  assume_role_policy = data.aws_iam_policy_document.assume[each.key].json
  tags               = local.tags

  permissions_boundary = var.permissions_boundary_arn

  lifecycle { create_before_destroy = true } # a function always has a role
}

resource "aws_iam_role_policy" "service" {
  for_each = {
    states    = data.aws_iam_policy_document.states.json
    scheduler = data.aws_iam_policy_document.scheduler.json
  }

  name   = "call"
  role   = aws_iam_role.service[each.key].id
  policy = each.value
}

data "aws_iam_policy_document" "states" {
  statement {
    sid       = "Steps"
    actions   = ["lambda:InvokeFunction"]
    resources = [local.function_arns["orchestrator"], local.function_arns["sla-monitor"]]
  }

  # The log delivery actions support no resource ARNs.
  dynamic "statement" {
    for_each = var.sfn_log_level == "OFF" ? [] : [var.sfn_log_level]
    content {
      sid = "Log"
      actions = [
        "logs:CreateLogDelivery", "logs:DeleteLogDelivery", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:GetLogDelivery",
        "logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:UpdateLogDelivery",
      ]
      resources = ["*"]
    }
  }

  dynamic "statement" {
    for_each = var.xray_tracing ? ["states"] : []
    content {
      sid       = "Trace"
      actions   = ["xray:GetSamplingRules", "xray:GetSamplingTargets", "xray:PutTelemetryRecords", "xray:PutTraceSegments"]
      resources = ["*"]
    }
  }
}

data "aws_iam_policy_document" "scheduler" {
  statement {
    sid       = "Instants"
    actions   = ["lambda:InvokeFunction"]
    resources = [local.function_arns["stream-router"], local.function_arns["sla-monitor"]]
  }

  statement {
    sid       = "Dead"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.dead["scheduler"].arn]
  }

  statement {
    sid       = "DeadKey"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [local.kms_key_arn]
    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["sqs.${local.region}.amazonaws.com"]
    }
  }
}
