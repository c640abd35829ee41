output "table_names" {
  description = "The four tables."
  value = {
    control = aws_dynamodb_table.control.name
    joblog  = aws_dynamodb_table.joblog.name
    rerun   = aws_dynamodb_table.rerun.name
    events  = aws_dynamodb_table.events.name
  }
}

output "table_arns" {
  description = "The ARNs of the tables, for the policies of sensor producers."
  value = {
    control = aws_dynamodb_table.control.arn
    joblog  = aws_dynamodb_table.joblog.arn
    rerun   = aws_dynamodb_table.rerun.arn
    events  = aws_dynamodb_table.events.arn
  }
}

output "function_arns" {
  description = "The six functions."
  value       = { for name, f in aws_lambda_function.this : name => f.arn }
}

output "event_bus_name" {
  description = "The bus of all events."
  value       = aws_cloudwatch_event_bus.this.name
}

output "event_bus_arn" {
  description = "The ARN of the bus, for rules and policies."
  value       = aws_cloudwatch_event_bus.this.arn
}

output "state_machine_arn" {
  description = "The state machine that runs attempts."
  value       = aws_sfn_state_machine.pipeline.arn
}

output "dead_letter_queue_urls" {
  description = "The dead-letter queues, which hold what could not be handled."
  value       = { for name, q in aws_sqs_queue.dead : name => q.url }
}

output "kms_key_arn" {
  description = "The key that encrypts all data. Sensor producers need permission to use it."
  value       = local.kms_key_arn
}

output "store_url" {
  description = "The URL for `interlock --store`."
  value       = "dynamodb://${var.environment}?region=${local.region}"
}

output "function_versions" {
  description = "The live version of each function. Keep it before an upgrade: as the variable function_versions it is the rollback."
  value       = local.function_versions
}

output "alarm_topic_arns" {
  description = "The SNS topics that receive every alarm."
  value       = local.alarm_topics
}

output "console_urls" {
  description = "Pages of the AWS console: dashboard, alarms, executions, tables and logs."
  value = {
    dashboard  = "${local.console}/cloudwatch/home?region=${local.region}#dashboards/dashboard/${local.global}"
    alarms     = "${local.console}/cloudwatch/home?region=${local.region}#alarmsV2:?search=${local.prefix}"
    executions = "${local.console}/states/home?region=${local.region}#/statemachines/view/${local.state_machine_arn}"
    tables     = "${local.console}/dynamodbv2/home?region=${local.region}#table?name=${aws_dynamodb_table.control.name}"
    logs       = "${local.console}/cloudwatch/home?region=${local.region}#logsV2:log-groups$3FlogGroupNameFilter$3D${local.prefix}"
  }
}
