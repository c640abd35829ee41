resource "aws_cloudwatch_event_bus" "this" {
  name               = "${local.prefix}-events"
  kms_key_identifier = local.kms_key_arn
  tags               = local.tags
}

# Sends every event to the events table.
resource "aws_cloudwatch_event_rule" "all" {
  name           = "${local.prefix}-all"
  description    = "Every event of Interlock"
  event_bus_name = aws_cloudwatch_event_bus.this.name
  event_pattern  = jsonencode({ source = ["interlock"] })
  tags           = local.tags
}

resource "aws_cloudwatch_event_target" "sink" {
  rule           = aws_cloudwatch_event_rule.all.name
  event_bus_name = aws_cloudwatch_event_bus.this.name
  arn            = aws_lambda_alias.live["event-sink"].arn

  dead_letter_config {
    arn = aws_sqs_queue.dead["alert"].arn
  }
}

# Sends events that need attention to the alert queue. Alarms go there directly, even if the bus
# does not receive them.
resource "aws_cloudwatch_event_rule" "alerts" {
  name           = "${local.prefix}-alerts"
  description    = "Events of Interlock that need attention"
  event_bus_name = aws_cloudwatch_event_bus.this.name
  tags           = local.tags

  event_pattern = jsonencode({
    source        = ["interlock"]
    "detail-type" = [{ "anything-but" = ["INFRA_ALARM"] }]
    detail        = { severity = ["warning", "critical"] }
  })
}

resource "aws_cloudwatch_event_target" "alerts" {
  rule           = aws_cloudwatch_event_rule.alerts.name
  event_bus_name = aws_cloudwatch_event_bus.this.name
  arn            = aws_sqs_queue.alerts.arn

  dead_letter_config {
    arn = aws_sqs_queue.dead["alert"].arn
  }
}

# The schedule of the watchdog. EventBridge supports schedule rules only on the default bus.
resource "aws_cloudwatch_event_rule" "watchdog" {
  name                = "${local.prefix}-watchdog"
  description         = "Runs the watchdog of Interlock"
  schedule_expression = var.watchdog_schedule
  tags                = local.tags
}

resource "aws_cloudwatch_event_target" "watchdog" {
  rule = aws_cloudwatch_event_rule.watchdog.name
  arn  = aws_lambda_alias.live["watchdog"].arn

  # No retries: the next pass repeats the checks.
  retry_policy {
    maximum_event_age_in_seconds = 60
    maximum_retry_attempts       = 0
  }
}

# The pulse of the watchdog: it measures the age of the oldest due work, and has late work carried
# out. It does not depend on watchdog_schedule.
resource "aws_cloudwatch_event_rule" "pulse" {
  name                = "${local.prefix}-pulse"
  description         = "Measures every minute whether the work of Interlock is late"
  schedule_expression = "rate(1 minute)"
  tags                = local.tags
}

resource "aws_cloudwatch_event_target" "pulse" {
  rule  = aws_cloudwatch_event_rule.pulse.name
  arn   = aws_lambda_alias.live["watchdog"].arn
  input = jsonencode({ mode = "pulse" })

  retry_policy {
    maximum_event_age_in_seconds = 60
    maximum_retry_attempts       = 0
  }
}

# Lambda repeats no failed call of the watchdog, because the next minute does.
resource "aws_lambda_function_event_invoke_config" "watchdog" {
  function_name                = aws_lambda_function.this["watchdog"].function_name
  qualifier                    = aws_lambda_alias.live["watchdog"].name
  maximum_event_age_in_seconds = 60
  maximum_retry_attempts       = 0
}

# CloudWatch reports the state change of an alarm on the default bus. These rules send it as
# INFRA_ALARM to event-sink and to the alerts; stream-router puts it on the bus. The end of an alarm
# is sent with severity info.
locals {
  alarm_states = {
    alarm = { states = ["ALARM", "INSUFFICIENT_DATA"], severity = "warning" }
    ok    = { states = ["OK"], severity = "info" }
  }
}

resource "aws_cloudwatch_event_rule" "alarms" {
  for_each = local.alarm_states

  name        = "${local.prefix}-alarms-${each.key}"
  description = "Alarms of Interlock whose state became ${join(" or ", each.value.states)}"
  tags        = local.tags

  event_pattern = jsonencode({
    source        = ["aws.cloudwatch"]
    "detail-type" = ["CloudWatch Alarm State Change"]
    resources     = [{ prefix = "${local.arn.alarms}:${local.prefix}-" }]
    detail        = { state = { value = each.value.states } }
  })
}

resource "aws_cloudwatch_event_target" "alarm" {
  for_each = merge([for state, of in local.alarm_states : {
    "${state}-sink"   = { state = state, severity = of.severity, arn = aws_lambda_alias.live["event-sink"].arn }
    "${state}-alerts" = { state = state, severity = of.severity, arn = aws_sqs_queue.alerts.arn }
    "${state}-bus"    = { state = state, severity = of.severity, arn = aws_lambda_alias.live["stream-router"].arn }
  }]...)

  rule = aws_cloudwatch_event_rule.alarms[each.value.state].name
  arn  = each.value.arn

  input_transformer {
    input_paths = {
      id    = "$.id"
      time  = "$.time"
      alarm = "$.detail.alarmName"
      state = "$.detail.state.value"
    }
    input_template = replace(file("${path.module}/alarm.json"), "SEVERITY", each.value.severity)
  }

  dead_letter_config {
    arn = aws_sqs_queue.dead["alert"].arn
  }
}

# Sends events of other services to stream-router, where source files turn them into readings.
resource "aws_cloudwatch_event_rule" "source" {
  for_each = var.source_events

  name           = "${local.prefix}-source-${each.key}"
  description    = "Events that the source files of Interlock read"
  event_bus_name = each.value.event_bus_name
  event_pattern  = each.value.pattern
  tags           = local.tags
}

resource "aws_cloudwatch_event_target" "source" {
  for_each = var.source_events

  rule           = aws_cloudwatch_event_rule.source[each.key].name
  event_bus_name = each.value.event_bus_name
  arn            = aws_lambda_alias.live["stream-router"].arn

  dead_letter_config {
    arn = aws_sqs_queue.dead["alert"].arn
  }
}

resource "aws_lambda_permission" "source" {
  for_each = var.source_events

  statement_id  = "source-${each.key}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this["stream-router"].function_name
  qualifier     = aws_lambda_alias.live["stream-router"].name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.source[each.key].arn
}

resource "aws_lambda_permission" "rule" {
  for_each = {
    all      = { function = "event-sink", rule = aws_cloudwatch_event_rule.all.arn }
    alarms   = { function = "event-sink", rule = aws_cloudwatch_event_rule.alarms["alarm"].arn }
    bus      = { function = "stream-router", rule = aws_cloudwatch_event_rule.alarms["alarm"].arn }
    over     = { function = "event-sink", rule = aws_cloudwatch_event_rule.alarms["ok"].arn }
    over-bus = { function = "stream-router", rule = aws_cloudwatch_event_rule.alarms["ok"].arn }
    watchdog = { function = "watchdog", rule = aws_cloudwatch_event_rule.watchdog.arn }
    pulse    = { function = "watchdog", rule = aws_cloudwatch_event_rule.pulse.arn }
  }

  statement_id  = "rule-${each.key}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this[each.value.function].function_name
  qualifier     = aws_lambda_alias.live[each.value.function].name
  principal     = "events.amazonaws.com"
  source_arn    = each.value.rule
}

# Rules put events into the alert queue, and undeliverable ones into the dead-letter queue. Queues
# reject plain HTTP.
data "aws_iam_policy_document" "queue" {
  for_each = merge({ alerts = aws_sqs_queue.alerts.arn }, { for name in local.dead_queues : name => aws_sqs_queue.dead[name].arn })

  statement {
    sid       = "OnlyTLS"
    effect    = "Deny"
    actions   = ["sqs:*"]
    resources = [each.value]
    principals {
      type        = "*"
      identifiers = ["*"]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }

  dynamic "statement" {
    for_each = contains(["alerts", "alert"], each.key) ? [each.value] : []
    content {
      sid       = "Rules"
      actions   = ["sqs:SendMessage"]
      resources = [statement.value]
      principals {
        type        = "Service"
        identifiers = ["events.amazonaws.com"]
      }
      condition {
        test     = "ArnEquals"
        variable = "aws:SourceArn"
        values = concat([
          aws_cloudwatch_event_rule.all.arn, aws_cloudwatch_event_rule.alerts.arn,
          aws_cloudwatch_event_rule.alarms["alarm"].arn, aws_cloudwatch_event_rule.alarms["ok"].arn,
        ], [for rule in aws_cloudwatch_event_rule.source : rule.arn])
      }
    }
  }
}

resource "aws_sqs_queue_policy" "alerts" {
  queue_url = aws_sqs_queue.alerts.id
  policy    = data.aws_iam_policy_document.queue["alerts"].json
}

resource "aws_sqs_queue_policy" "dead" {
  for_each = local.dead_queues

  queue_url = aws_sqs_queue.dead[each.key].id
  policy    = data.aws_iam_policy_document.queue[each.key].json
}

# The group of the one-time schedules that the functions create.
resource "aws_scheduler_schedule_group" "this" {
  name = local.prefix
  tags = local.tags
}
