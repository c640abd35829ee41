locals {
  # The functions with their timeouts in seconds.
  functions = {
    stream-router    = 60
    orchestrator     = 900 # it waits up to 14 minutes for jobs that run within the start call
    sla-monitor      = 60
    watchdog         = 120
    event-sink       = 30
    alert-dispatcher = 60
  }

  # Everything calls the functions through the alias live.
  function_arns = { for name in keys(local.functions) : name => "${local.arn.lambda}:${local.prefix}-${name}:live" }

  # The version of each function that is live: the newest one, or that of a rollback.
  function_versions = { for name in keys(local.functions) : name => try(var.function_versions[name], aws_lambda_function.this[name].version) }

  # Environment variables of individual functions, besides those common to all.
  environments = {
    stream-router    = local.relay_environment
    orchestrator     = local.job_environment
    sla-monitor      = local.schedule_environment
    watchdog         = merge(local.relay_environment, var.heartbeat_url == null ? {} : { HEARTBEAT_URL = var.heartbeat_url, EGRESS_ALLOW = join(",", var.egress_allow) })
    alert-dispatcher = local.slack_environment
  }

  # The functions that send spans.
  traced = ["stream-router", "orchestrator", "sla-monitor", "watchdog"]

  common_environment = {
    ENVIRONMENT               = var.environment # the prefix of the table names
    SFN_TIMEOUT_SECONDS       = tostring(var.sfn_timeout_seconds)
    TRIGGER_MAX_ATTEMPTS      = tostring(var.trigger_max_attempts)
    WATCHDOG_INTERVAL_SECONDS = tostring(local.watchdog_seconds)
    EVENTS_TTL_DAYS           = tostring(var.events_ttl_days)
    GOMEMLIMIT                = "${floor(var.lambda_memory_size * 0.85)}MiB" # makes Go collect garbage before Lambda kills the function
  }

  # For the functions that create schedules.
  schedule_environment = {
    STREAM_ROUTER_ARN    = local.function_arns["stream-router"]
    SLA_MONITOR_ARN      = local.function_arns["sla-monitor"]
    SCHEDULER_GROUP_NAME = aws_scheduler_schedule_group.this.name
    SCHEDULER_ROLE_ARN   = aws_iam_role.service["scheduler"].arn
    SCHEDULER_DLQ_ARN    = aws_sqs_queue.dead["scheduler"].arn
  }

  # For the functions that carry out stored tasks: start executions, create schedules, invoke the
  # orchestrator and publish events.
  relay_environment = merge(local.schedule_environment, local.offers_environment, {
    EVENT_BUS_NAME    = aws_cloudwatch_event_bus.this.name
    STATE_MACHINE_ARN = local.state_machine_arn
    ORCHESTRATOR_ARN  = local.function_arns["orchestrator"]
  })

  # For the function that starts jobs.
  job_environment = merge(var.job_environment, local.offers_environment, {
    EGRESS_ALLOW = join(",", var.egress_allow)
  })

  slack_environment = { for name, value in {
    ALERT_QUEUE_URL  = aws_sqs_queue.alerts.url
    SLACK_CHANNEL_ID = var.slack_channel_id
    SLACK_SECRET_ARN = var.slack_secret_arn
    SLACK_BOT_TOKEN  = var.slack_bot_token
  } : name => value if value != null }

  # The network of each function that runs in one.
  networks = { for name in keys(local.functions) : name => try(var.vpc_config[name], var.vpc_config["all"]) if can(try(var.vpc_config[name], var.vpc_config["all"])) }

  # The job types and variables that pipeline files may use. The functions and the check of the plan
  # reject others.
  job_types = concat(
    ["http", "airflow", "databricks", "external"],
    var.enable_command_trigger ? ["command"] : [],
    var.enable_glue_trigger ? ["glue"] : [],
    var.enable_emr_trigger ? ["emr"] : [],
    var.enable_emr_serverless_trigger ? ["emr-serverless"] : [],
    var.enable_sfn_trigger ? ["step-function"] : [],
    var.enable_lambda_trigger ? ["lambda"] : [],
  )

  offers_environment = {
    JOB_TYPES          = join(",", local.job_types)
    SECRET_VARIABLES   = join(",", nonsensitive(keys(var.job_environment)))
    JOB_SECRET_ARNS    = join(",", var.job_secret_arns)
    JOB_PARAMETER_ARNS = join(",", var.job_parameter_arns)
  }

  watchdog_rate    = regex("^rate\\((?P<count>[0-9]+) (?P<unit>minute|hour)s?\\)$", var.watchdog_schedule)
  watchdog_seconds = tonumber(local.watchdog_rate.count) * (local.watchdog_rate.unit == "hour" ? 3600 : 60)
}

resource "aws_lambda_function" "this" {
  for_each = local.functions

  function_name    = "${local.prefix}-${each.key}"
  role             = aws_iam_role.function[each.key].arn
  filename         = "${var.dist_path}/${each.key}.zip"
  source_code_hash = filebase64sha256("${var.dist_path}/${each.key}.zip")
  handler          = "bootstrap"
  runtime          = "provided.al2023"
  architectures    = [var.architecture]
  memory_size      = var.lambda_memory_size
  publish          = true # each change of code or settings becomes a version, to which function_versions can return
  timeout          = each.value
  kms_key_arn      = local.kms_key_arn
  tags             = local.tags

  # -1 uses the account's unreserved concurrency.
  reserved_concurrent_executions = lookup(var.reserved_concurrency, each.key, -1)

  tracing_config {
    mode = var.xray_tracing ? "Active" : "PassThrough"
  }

  dynamic "vpc_config" {
    for_each = contains(keys(local.networks), each.key) ? [local.networks[each.key]] : []
    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  # Asynchronous calls are dropped after three failures: those of EventBridge to event-sink and
  # stream-router, of Scheduler to sla-monitor, and of the other functions to the orchestrator. The
  # watchdog is called again a minute later, and the alert-dispatcher reads from a queue.
  dynamic "dead_letter_config" {
    for_each = contains(keys(local.call_queues), each.key) ? [local.call_queues[each.key]] : []
    content {
      target_arn = dead_letter_config.value
    }
  }

  environment {
    variables = merge(contains(local.traced, each.key) ? var.trace_environment : {}, local.common_environment, lookup(local.environments, each.key, {}))
  }

  # The log group must exist first: Lambda would otherwise create one without retention.
  depends_on = [aws_cloudwatch_log_group.function, aws_iam_role_policy.function]
}

resource "aws_lambda_alias" "live" {
  for_each = local.functions

  name             = "live"
  description      = "The version that is in use"
  function_name    = aws_lambda_function.this[each.key].function_name
  function_version = local.function_versions[each.key]
}

resource "aws_cloudwatch_log_group" "function" {
  for_each = local.functions

  name              = "/aws/lambda/${local.prefix}-${each.key}"
  retention_in_days = var.log_retention_days
  kms_key_id        = local.kms_key_arn
  tags              = local.tags
}

locals {
  streams = {
    control = aws_dynamodb_table.control.stream_arn
    joblog  = aws_dynamodb_table.joblog.stream_arn
  }
}

# One alias per stream, so that each stream has its own iterator age.
resource "aws_lambda_alias" "stream" {
  for_each = local.streams

  name             = each.key
  function_name    = aws_lambda_function.this["stream-router"].function_name
  function_version = local.function_versions["stream-router"]
}

resource "aws_lambda_event_source_mapping" "stream" {
  for_each = local.streams

  event_source_arn                   = each.value
  function_name                      = aws_lambda_alias.stream[each.key].arn
  starting_position                  = "TRIM_HORIZON"
  batch_size                         = 10
  bisect_batch_on_function_error     = true
  maximum_retry_attempts             = 3
  maximum_batching_window_in_seconds = 0
  function_response_types            = ["ReportBatchItemFailures"]
  tags                               = local.tags

  destination_config {
    on_failure {
      destination_arn = aws_sqs_queue.dead[each.key].arn
    }
  }

  # The filters pass only relevant rows: those that the functions have marked and those that other
  # programs write.
  filter_criteria {
    dynamic "filter" {
      for_each = local.stream_filters[each.key]
      content {
        pattern = jsonencode(filter.value)
      }
    }
  }

  # The bus rules, the queue policies and the state machine must exist before the first records are
  # read.
  depends_on = [
    aws_cloudwatch_event_target.sink, aws_cloudwatch_event_target.alerts, aws_lambda_permission.rule,
    aws_sqs_queue_policy.alerts, aws_sqs_queue_policy.dead, aws_sfn_state_machine.pipeline,
  ]
}

locals {
  stream_filters = {
    control = [
      { dynamodb = { NewImage = { told = { BOOL = [true] } } } },
      { dynamodb = { Keys = { SK = { S = ["CONFIG", { prefix = "SENSOR#" }, { prefix = "RERUN_REQUEST#" }, { prefix = "REQUEST#" }] } } } },
    ]
    joblog = [
      { dynamodb = { NewImage = { told = { BOOL = [true] } } } },
      { dynamodb = { NewImage = { version = { N = [{ exists = false }] } } } },
    ]
  }
}

resource "aws_lambda_event_source_mapping" "alerts" {
  event_source_arn        = aws_sqs_queue.alerts.arn
  function_name           = aws_lambda_alias.live["alert-dispatcher"].arn
  batch_size              = 10
  function_response_types = ["ReportBatchItemFailures"]
  tags                    = local.tags
}

locals {
  # The dead-letter queue for the asynchronous calls of each function.
  call_queues = {
    event-sink    = aws_sqs_queue.dead["alert"].arn
    stream-router = aws_sqs_queue.dead["control"].arn
    orchestrator  = aws_sqs_queue.dead["calls"].arn
    sla-monitor   = aws_sqs_queue.dead["calls"].arn
  }

  dead_queues = toset(["control", "joblog", "alert", "calls", "scheduler"])
}

# Dead-letter queues of the two streams, of the alerts and of the bus, of calls that failed, and of
# calls that Scheduler could not make.
resource "aws_sqs_queue" "dead" {
  for_each = local.dead_queues

  name                      = "${local.prefix}-${each.key}-dlq"
  message_retention_seconds = 1209600 # 14 days, the maximum
  kms_master_key_id         = local.kms_key_arn
  tags                      = local.tags
}

resource "aws_sqs_queue" "alerts" {
  name                       = "${local.prefix}-alerts"
  visibility_timeout_seconds = 6 * local.functions["alert-dispatcher"]
  message_retention_seconds  = 345600
  kms_master_key_id          = local.kms_key_arn
  tags                       = local.tags

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead["alert"].arn
    maxReceiveCount     = 5
  })
}
