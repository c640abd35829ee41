# A dashboard of the metrics in docs/METRICS.md, which the functions write to their logs, and of
# those of the services.
locals {
  console = "https://${local.region}.console.${local.partition == "aws-cn" ? "amazonaws.cn" : local.partition == "aws-us-gov" ? "amazonaws-us-gov.com" : "aws.amazon.com"}"

  # One search expression per widget finds every series, whatever its labels.
  searches = {
    "Jobs that ended, by result"              = { of = "result", name = "interlock_job_outcomes_total", stat = "Sum" }
    "Events, by type"                         = { of = "severity,type", name = "interlock_events_total", stat = "Sum" }
    "Watchdog findings, by check"             = { of = "check", name = "interlock_watchdog_findings_total", stat = "Sum" }
    "Lateness of tasks in seconds, p99"       = { of = "kind", name = "interlock_task_lag_seconds", stat = "p99" }
    "Duration of tasks in seconds, p99"       = { of = "kind,result", name = "interlock_task_duration_seconds", stat = "p99" }
    "Duration of changes in seconds, p99"     = { of = "result", name = "interlock_change_duration_seconds", stat = "p99" }
    "Duration of watchdog rounds, in seconds" = { of = "name,result", name = "interlock_tick_duration_seconds", stat = "Maximum" }
  }

  charts = merge(
    { "Age of the oldest due work, in seconds" = [["Interlock", "interlock_oldest_due_task_seconds", "Environment", var.environment, { stat = "Maximum", period = 60 }]] },
    { "Job starts" = [["Interlock", "interlock_job_starts_total", "Environment", var.environment, { stat = "Sum" }]] },
    { "Age of changes when handled, in seconds" = [for stat in ["p50", "p99"] : ["Interlock", "interlock_feed_lag_seconds", "Environment", var.environment, { stat = stat, label = stat }]] },
    { for title, of in local.searches : title => [[{ expression = "SEARCH('{Interlock,Environment,${of.of}} MetricName=\"${of.name}\" Environment=\"${var.environment}\"', '${of.stat}', 300)" }]] },
    { for metric in ["Errors", "Throttles"] : "Functions: ${lower(metric)}" => [for name in keys(local.functions) : ["AWS/Lambda", metric, "FunctionName", "${local.prefix}-${name}", { stat = "Sum", label = name }]] },
    { "Functions: duration in ms, p99" = [for name in keys(local.functions) : ["AWS/Lambda", "Duration", "FunctionName", "${local.prefix}-${name}", { stat = "p99", label = name }]] },
    { "Executions" = [for metric in ["ExecutionsStarted", "ExecutionsSucceeded", "ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted"] : ["AWS/States", metric, "StateMachineArn", local.state_machine_arn, { stat = "Sum", label = metric }]] },
    { "Dead letters" = [for name in local.dead_queues : ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${local.prefix}-${name}-dlq", { stat = "Maximum", label = name }]] },
  )

  alarm_names = concat([for name in keys(local.alarms) : "${local.prefix}-${name}"], ["${local.prefix}-watchdog-silent"])

  widgets = concat(
    [{
      type       = "alarm", width = 24, height = 4
      properties = { title = "Alarms", alarms = [for name in local.alarm_names : "${local.arn.alarms}:${name}"] }
    }],
    [for title, metrics in local.charts : {
      type       = "metric", width = 8, height = 6
      properties = { title = title, region = local.region, metrics = metrics, view = "timeSeries" }
    }],
  )
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = local.global
  dashboard_body = jsonencode({ widgets = local.widgets })
}
