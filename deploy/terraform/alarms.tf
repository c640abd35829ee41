# Alarms of CloudWatch. They do not depend on a function of Interlock: a function that is down
# cannot report that. docs/AWS.md says what to do about each.
locals {
  alarms = merge(
    { for name in keys(local.functions) : "${name}-errors" => {
      description = "The function ${name} failed."
      namespace   = "AWS/Lambda"
      metric      = "Errors"
      statistic   = "Sum"
      threshold   = 1
      period      = 300
      dimensions  = { FunctionName = "${local.prefix}-${name}" }
    } },
    { for name in keys(local.functions) : "${name}-throttles" => {
      description = "Lambda refused calls of the function ${name}: too many at once."
      namespace   = "AWS/Lambda"
      metric      = "Throttles"
      statistic   = "Sum"
      threshold   = 1
      period      = 300
      dimensions  = { FunctionName = "${local.prefix}-${name}" }
    } },
    { for what, metric in { failed = "ExecutionsFailed", timed-out = "ExecutionsTimedOut", aborted = "ExecutionsAborted" } : "executions-${what}" => {
      description                  = "An execution of the state machine: ${what}."
      namespace                    = "AWS/States"
      metric                       = metric
      statistic                    = "Sum"
      threshold                    = 1
      period                       = 300
      dimensions                   = { StateMachineArn = local.state_machine_arn }
    } },
    { for name in local.dead_queues : "${name}-dlq" => {
      description = "The queue ${name}-dlq holds messages that could not be handled."
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      statistic   = "Maximum"
      threshold   = 1
      period      = 300
      dimensions  = { QueueName = "${local.prefix}-${name}-dlq" }
    } },
    { alerts-waiting = {
      description = "An alert has been waiting for the alert-dispatcher for a minute."
      namespace   = "AWS/SQS"
      metric      = "ApproximateAgeOfOldestMessage"
      statistic   = "Maximum"
      threshold   = 60
      period      = 60
      dimensions  = { QueueName = "${local.prefix}-alerts" }
    } },
    # The watchdog measures it every minute, whichever function should have done the work.
    { oldest-due-task = {
      description = "Work that is due has not been carried out for a minute."
      namespace   = "Interlock"
      metric      = "interlock_oldest_due_task_seconds"
      statistic   = "Maximum"
      threshold   = 60
      period      = 60
      dimensions  = { Environment = var.environment }
    } },
    # Lambda reports the iterator age per function and per alias only, so each stream has its own
    # alias.
    { for name in ["control", "joblog"] : "${name}-iterator-age" => {
      description = "stream-router is five minutes behind the stream of the table ${name}."
      namespace   = "AWS/Lambda"
      metric      = "IteratorAge"
      statistic   = "Maximum"
      threshold   = 300000
      period      = 300
      dimensions  = { FunctionName = "${local.prefix}-stream-router", Resource = "${local.prefix}-stream-router:${name}" }
    } },
  )
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name          = "${local.prefix}-${each.key}"
  alarm_description   = "${each.value.description} See ${local.alarm_page}."
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = each.value.threshold
  period              = each.value.period
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.alarm_topics
  ok_actions          = local.alarm_topics
  tags                = local.tags
}

# The watchdog has not measured for two minutes, so no other alarm can be trusted. CloudWatch looks
# back for older data before it counts data as missing; FILL does not.
resource "aws_cloudwatch_metric_alarm" "silent" {
  for_each = toset(["watchdog-silent"])

  alarm_name          = "${local.prefix}-${each.key}"
  alarm_description   = "The watchdog does not measure whether work is late. See ${local.alarm_page}."
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  evaluation_periods  = 2
  treat_missing_data  = "breaching"
  alarm_actions       = local.alarm_topics
  ok_actions          = local.alarm_topics
  tags                = local.tags

  metric_query {
    id          = "measured"
    expression  = "FILL(measurements, 0)"
    label       = "measurements in a minute"
    return_data = true
  }

  metric_query {
    id = "measurements"

    metric {
      namespace   = local.alarms.oldest-due-task.namespace
      metric_name = local.alarms.oldest-due-task.metric
      dimensions  = local.alarms.oldest-due-task.dimensions
      stat        = "SampleCount"
      period      = 60
    }
  }
}

# The topic of alarm_emails. It is not encrypted with the key: the name and state of an alarm are no
# secret, and a key that CloudWatch may not use would silence every alarm.
resource "aws_sns_topic" "alarms" {
  count = length(var.alarm_emails) > 0 ? 1 : 0

  name = "${local.prefix}-alarms"
  tags = local.tags
}

resource "aws_sns_topic_subscription" "alarms" {
  for_each = toset(var.alarm_emails)

  topic_arn = aws_sns_topic.alarms[0].arn
  protocol  = "email"
  endpoint  = each.key
}

locals {
  alarm_topics = concat(var.sns_alarm_topic_arn == null ? [] : [var.sns_alarm_topic_arn], length(var.alarm_emails) == 0 ? [] : [aws_sns_topic.alarms[0].arn])
  alarm_page   = "docs/AWS.md, \"When an alarm rings\""
}
