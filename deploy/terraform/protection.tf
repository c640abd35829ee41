# Refuses `terraform destroy` while deletion_protection is on, before anything is removed: all other
# resources are destroyed after this one, which fails. Tests check that it waits for all of them.
# The tables are protected by DynamoDB, too.
resource "terraform_data" "deletion_protection" {
  input = var.deletion_protection

  provisioner "local-exec" {
    when    = destroy
    command = self.input ? "echo deletion_protection is on, so nothing was removed. To remove Interlock with its data, set deletion_protection to false, apply, then destroy. && exit 1" : "exit 0"
  }

  depends_on = [
    aws_cloudwatch_dashboard.this,
    aws_cloudwatch_event_target.alarm,
    aws_cloudwatch_event_target.pulse,
    aws_cloudwatch_event_target.source,
    aws_cloudwatch_event_target.watchdog,
    aws_cloudwatch_metric_alarm.silent,
    aws_cloudwatch_metric_alarm.this,
    aws_dynamodb_table_item.file,
    aws_kms_alias.this,
    aws_lambda_event_source_mapping.alerts,
    aws_lambda_event_source_mapping.stream,
    aws_lambda_function_event_invoke_config.watchdog,
    aws_lambda_permission.source,
    aws_sns_topic_subscription.alarms,
  ]
}
