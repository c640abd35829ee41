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

# A changed alarm is told as INFRA_ALARM to both who listen to the bus, and by the stream-router to everybody else who does.
# CloudWatch tells of it on the default bus.
resource "aws_cloudwatch_event_rule" "alarms" {
  name        = "${local.prefix}-alarms"
  description = "Alarms of Interlock that changed their state"
  tags        = local.tags

  event_pattern = jsonencode({
    source        = ["aws.cloudwatch"]
    "detail-type" = ["CloudWatch Alarm State Change"]
    resources     = [{ prefix = "${local.arn.alarms}:${local.prefix}-" }]
  })
}

resource "aws_cloudwatch_event_target" "alarm" {
  for_each = {
    sink   = aws_lambda_function.this["event-sink"].arn
    alerts = aws_sqs_queue.alerts.arn
    bus    = aws_lambda_function.this["stream-router"].arn
  }

  rule = aws_cloudwatch_event_rule.alarms.name
  arn  = each.value

  input_transformer {
    input_paths = {
      id    = "$.id"
      time  = "$.time"
      alarm = "$.detail.alarmName"
      state = "$.detail.state.value"
    }
    input_template = file("${path.module}/alarm.json")
  }

  dead_letter_config {
    arn = aws_sqs_queue.dead["alert"].arn
  }
}

resource "aws_lambda_permission" "rule" {
  for_each = {
    all      = { function = "event-sink", rule = aws_cloudwatch_event_rule.all.arn }
    alarms   = { function = "event-sink", rule = aws_cloudwatch_event_rule.alarms.arn }
    bus      = { function = "stream-router", rule = aws_cloudwatch_event_rule.alarms.arn }
    watchdog = { function = "watchdog", rule = aws_cloudwatch_event_rule.watchdog.arn }
  }

  statement_id  = "rule-${each.key}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this[each.value.function].function_name
  principal     = "events.amazonaws.com"
  source_arn    = each.value.rule
}

# Rules put events into the queue of alerts, and what they cannot deliver into that of the dead.
data "aws_iam_policy_document" "queue" {
  for_each = { alerts = aws_sqs_queue.alerts.arn, dead = aws_sqs_queue.dead["alert"].arn }

  statement {
    sid       = "Rules"
    actions   = ["sqs:SendMessage"]
    resources = [each.value]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_cloudwatch_event_rule.all.arn, aws_cloudwatch_event_rule.alerts.arn, aws_cloudwatch_event_rule.alarms.arn]
    }
  }
}

resource "aws_sqs_queue_policy" "alerts" {
  queue_url = aws_sqs_queue.alerts.id
  policy    = data.aws_iam_policy_document.queue["alerts"].json
}

resource "aws_sqs_queue_policy" "dead" {
  queue_url = aws_sqs_queue.dead["alert"].id
  policy    = data.aws_iam_policy_document.queue["dead"].json
}

# One-time entries, made by the functions: an instant that has not come yet.
resource "aws_scheduler_schedule_group" "this" {
  name = local.prefix
  tags = local.tags
}
