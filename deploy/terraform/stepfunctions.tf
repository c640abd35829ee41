# The state machine that runs attempts. It waits and branches; the functions that it calls decide.
resource "aws_sfn_state_machine" "pipeline" {
  name     = "${local.prefix}-pipeline"
  role_arn = aws_iam_role.service["states"].arn
  type     = "STANDARD"
  tags     = local.tags

  definition = templatefile("${path.module}/statemachine.asl.json", {
    orchestrator_arn     = local.function_arns["orchestrator"]
    sla_monitor_arn      = local.function_arns["sla-monitor"]
    sfn_timeout_seconds  = var.sfn_timeout_seconds
    trigger_max_attempts = var.trigger_max_attempts
  })

  # The tables hold the data of an execution; the log contains only its states.
  dynamic "logging_configuration" {
    for_each = var.sfn_log_level == "OFF" ? [] : [var.sfn_log_level]
    content {
      level                  = logging_configuration.value
      include_execution_data = false
      log_destination        = "${aws_cloudwatch_log_group.states.arn}:*"
    }
  }

  tracing_configuration {
    enabled = var.xray_tracing
  }

  # Step Functions checks the definition against the role when it creates the state machine.
  depends_on = [aws_iam_role_policy.service]
}

locals {
  state_machine_arn = "${local.arn.states}:stateMachine:${local.prefix}-pipeline"
}

resource "aws_cloudwatch_log_group" "states" {
  name              = "/aws/vendedlogs/states/${local.prefix}-pipeline"
  retention_in_days = var.log_retention_days
  kms_key_id        = local.kms_key_arn
  tags              = local.tags
}
