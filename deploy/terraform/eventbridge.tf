resource "aws_cloudwatch_event_bus" "this" {
  name               = "${local.prefix}-events"
  kms_key_identifier = local.kms_key_arn
  tags               = local.tags
}

# Every event to the events table.
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
  arn            = aws_lambda_function.this["event-sink"].arn

  dead_letter_config {
    arn = aws_sqs_queue.dead["alert"].arn
  }
}

# What somebody should hear of, to the alerts. Alarms go there by themselves, whether or not the bus gets them.
resource "aws_cloudwatch_event_rule" "alerts" {
  name           = "${local.prefix}-alerts"
  description    = "Events of Interlock that somebody should hear of"
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

# The watchdog's clock. Rules with a schedule are on the default bus.
resource "aws_cloudwatch_event_rule" "watchdog" {
  name                = "${local.prefix}-watchdog"
  description         = "When Interlock looks for what did not happen"
  schedule_expression = var.watchdog_schedule
  tags                = local.tags
}

resource "aws_cloudwatch_event_target" "watchdog" {
  rule = aws_cloudwatch_event_rule.watchdog.name
  arn  = aws_lambda_function.this["watchdog"].arn

  # A pass that could not be made is followed by the next.
  retry_policy {
    maximum_event_age_in_seconds = 60
    maximum_retry_attempts       = 0
  }
}

# A changed alarm goes as INFRA_ALARM to the sink and to the alerts, and through the stream-router to the bus. CloudWatch reports
# it on the default bus. That it is over is no warning.
locals {
  alarm_states = {
    alarm = { states = ["ALARM", "INSUFFICIENT_DATA"], severity = "warning" }
    ok    = { states = ["OK"], severity = "info" }
  }
}

resource "aws_cloudwatch_event_rule" "alarms" {
  for_each = local.alarm_states

  name        = "${local.prefix}-alarms-${each.key}"
  description = "Alarms of Interlock that are now ${join(" or ", each.value.states)}"
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
    "${state}-sink"   = { state = state, severity = of.severity, arn = aws_lambda_function.this["event-sink"].arn }
    "${state}-alerts" = { state = state, severity = of.severity, arn = aws_sqs_queue.alerts.arn }
    "${state}-bus"    = { state = state, severity = of.severity, arn = aws_lambda_function.this["stream-router"].arn }
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

# Events of others that may be facts, to the stream-router: the source files say of which pipelines.
resource "aws_cloudwatch_event_rule" "source" {
  for_each = var.source_events

  name           = "${local.prefix}-source-${each.key}"
  description    = "Events that source files of Interlock see"
  event_bus_name = each.value.event_bus_name
  event_pattern  = each.value.pattern
  tags           = local.tags
}

resource "aws_cloudwatch_event_target" "source" {
  for_each = var.source_events

  rule           = aws_cloudwatch_event_rule.source[each.key].name
  event_bus_name = each.value.event_bus_name
  arn            = aws_lambda_function.this["stream-router"].arn

  dead_letter_config {
    arn = aws_sqs_queue.dead["alert"].arn
  }
}

resource "aws_lambda_permission" "source" {
  for_each = var.source_events

  statement_id  = "source-${each.key}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this["stream-router"].function_name
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
  }

  statement_id  = "rule-${each.key}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this[each.value.function].function_name
  principal     = "events.amazonaws.com"
  source_arn    = each.value.rule
}

# Rules put events into the queue of alerts, and what they cannot deliver into that of the dead. Nothing reaches a queue over plain
# HTTP.
data "aws_iam_policy_document" "queue" {
  for_each = {
    alerts  = aws_sqs_queue.alerts.arn
    alert   = aws_sqs_queue.dead["alert"].arn
    control = aws_sqs_queue.dead["control"].arn
    joblog  = aws_sqs_queue.dead["joblog"].arn
  }

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
  for_each = toset(["control", "joblog", "alert"])

  queue_url = aws_sqs_queue.dead[each.key].id
  policy    = data.aws_iam_policy_document.queue[each.key].json
}

# One-time entries, made by the functions: an instant that has not come yet.
resource "aws_scheduler_schedule_group" "this" {
  name = local.prefix
  tags = local.tags
}
