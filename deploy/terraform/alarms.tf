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
    { for what, metric in { failed = "ExecutionsFailed", timed-out = "ExecutionsTimedOut", aborted = "ExecutionsAborted" } : "executions-${what}" => {
      description                  = "An execution of the state machine: ${what}."
      namespace                    = "AWS/States"
      metric                       = metric
      statistic                    = "Sum"
      threshold                    = 1
      period                       = 300
      dimensions                   = { StateMachineArn = local.state_machine_arn }
    } },
    { for name in ["control", "joblog", "alert"] : "${name}-dlq" => {
      description = "The queue ${name}-dlq holds messages that could not be handled."
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      statistic   = "Maximum"
      threshold   = 1
      period      = 300
      dimensions  = { QueueName = "${local.prefix}-${name}-dlq" }
    } },
    # The watchdog has missed three of its passes.
    { watchdog-silent = {
      description = "The watchdog was not invoked."
      namespace   = "AWS/Lambda"
      metric      = "Invocations"
      statistic   = "Sum"
      threshold   = 1
      period      = 3 * local.watchdog_seconds
      dimensions  = { FunctionName = "${local.prefix}-watchdog" }
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
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  comparison_operator = each.value.metric == "Invocations" ? "LessThanThreshold" : "GreaterThanOrEqualToThreshold"
  threshold           = each.value.threshold
  period              = each.value.period
  evaluation_periods  = 1
  treat_missing_data  = each.value.metric == "Invocations" ? "breaching" : "notBreaching"
  alarm_actions       = local.alarm_topics
  ok_actions          = local.alarm_topics
  tags                = local.tags
}

locals {
  alarm_topics = var.sns_alarm_topic_arn == null ? [] : [var.sns_alarm_topic_arn]
}
