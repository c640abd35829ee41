# The machine that carries an attempt on. It waits and branches; what to do is said by the functions it calls.
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

  # What an execution passes on is in the tables; the log names its states only.
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

  # It is checked against the role when it is made.
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
