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
  description = "The same, for the policies of those who write sensors."
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
  description = "The bus that every event is on."
  value       = aws_cloudwatch_event_bus.this.name
}

output "event_bus_arn" {
  description = "The same, for rules and policies."
  value       = aws_cloudwatch_event_bus.this.arn
}

output "state_machine_arn" {
  description = "The machine that carries attempts on."
  value       = aws_sfn_state_machine.pipeline.arn
}

output "dead_letter_queue_urls" {
  description = "Where to look when an alarm says that something could not be handled."
  value       = { for name, q in aws_sqs_queue.dead : name => q.url }
}

output "kms_key_arn" {
  description = "The key that everything is encrypted with; who writes sensors needs it, too."
  value       = local.kms_key_arn
}

output "store_url" {
  description = "What to give `interlock --store`."
  value       = "dynamodb://${var.environment}?region=${local.region}"
}
