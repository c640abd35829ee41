# Plans the module with mocks: run `terraform init -backend=false && terraform test` in the module's
# folder. No account or credentials are needed. Values that only AWS knows are unknown in a plan, so
# nothing is asserted about them.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-west-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  environment = "test"
  dist_path   = "tests/zips"
  alarms      = "none"
}

run "defaults" {
  command = plan

  assert {
    condition     = length(aws_lambda_function.this) == 6
    error_message = "There are six functions."
  }

  assert {
    condition     = alltrue([for f in aws_lambda_function.this : contains(f.architectures, "arm64") && f.reserved_concurrent_executions == -1 && f.memory_size == 128])
    error_message = "Functions are for arm64, with 128 MB and the account's unreserved concurrency."
  }

  assert {
    condition     = alltrue([for f in aws_lambda_function.this : length(f.vpc_config) == 0 && f.tracing_config[0].mode == "PassThrough"])
    error_message = "By default no function is in a network or traced."
  }

  assert {
    condition     = alltrue([for r in aws_iam_role.function : r.permissions_boundary == null]) && alltrue([for r in aws_iam_role.service : r.permissions_boundary == null])
    error_message = "By default no role has a boundary."
  }

  assert {
    condition     = length(aws_kms_key.this) == 1 && aws_kms_key.this[0].enable_key_rotation
    error_message = "If the caller gives no key, the module creates one with rotation."
  }

  assert {
    condition     = output.store_url == "dynamodb://test?region=eu-west-1"
    error_message = "store_url is a URL for `interlock --store`."
  }
}

run "streams" {
  command = plan

  assert {
    condition = alltrue([for m in aws_lambda_event_source_mapping.stream : (
      m.batch_size == 10 && m.bisect_batch_on_function_error && m.maximum_retry_attempts == 3 && m.starting_position == "TRIM_HORIZON" &&
      contains(m.function_response_types, "ReportBatchItemFailures")
    )])
    error_message = "A mapping starts at the first record of its stream, and a failing record affects no other."
  }

  assert {
    condition     = alltrue([for m in aws_lambda_event_source_mapping.stream : length(m.filter_criteria[0].filter) == 2 && length(m.destination_config[0].on_failure) == 1])
    error_message = "Streams are filtered, and failed records go to a queue."
  }

  assert {
    condition = alltrue([for t in [aws_dynamodb_table.control, aws_dynamodb_table.joblog, aws_dynamodb_table.rerun, aws_dynamodb_table.events] : (
      t.deletion_protection_enabled && t.point_in_time_recovery[0].enabled && t.server_side_encryption[0].enabled && t.billing_mode == "PAY_PER_REQUEST"
    )])
    error_message = "Tables are protected, recoverable, encrypted and on demand."
  }
}

run "queues_refuse_plain_http" {
  command = plan

  assert {
    condition = alltrue([for name in ["alerts", "alert", "control", "joblog", "calls", "scheduler"] : anytrue([for s in data.aws_iam_policy_document.queue[name].statement : (
      s.effect == "Deny" && contains(s.actions, "sqs:*") &&
      anytrue([for c in s.condition : c.variable == "aws:SecureTransport" && contains(c.values, "false")])
    )])])
    error_message = "Every queue rejects requests without TLS."
  }

  assert {
    condition     = length(aws_sqs_queue_policy.dead) == 5
    error_message = "Every dead-letter queue has its policy."
  }
}

run "alarms" {
  command = plan

  variables {
    alarms              = "topic"
    alarm_emails        = ["data-platform@example.com"]
    sns_alarm_topic_arn = "arn:aws:sns:eu-west-1:123456789012:alarms"
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.silent["watchdog-silent"].treat_missing_data == "breaching" && aws_cloudwatch_metric_alarm.silent["watchdog-silent"].comparison_operator == "LessThanThreshold"
    error_message = "A watchdog that does not measure raises an alarm."
  }

  assert {
    condition     = alltrue([for a in aws_cloudwatch_metric_alarm.this : a.treat_missing_data == "notBreaching"])
    error_message = "No other alarm treats missing data as a breach."
  }

  assert {
    condition     = length(aws_sns_topic.alarms) == 1 && aws_sns_topic_subscription.alarms["data-platform@example.com"].protocol == "email"
    error_message = "Addresses get a topic."
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.this) == 24
    error_message = "There are 24 alarms besides that of the watchdog."
  }
}

run "alarms_to_a_topic" {
  command = plan

  variables {
    alarms              = "topic"
    sns_alarm_topic_arn = "arn:aws:sns:eu-west-1:123456789012:alarms"
  }

  assert {
    condition     = alltrue([for a in aws_cloudwatch_metric_alarm.this : contains(a.alarm_actions, "arn:aws:sns:eu-west-1:123456789012:alarms") && contains(a.ok_actions, "arn:aws:sns:eu-west-1:123456789012:alarms")])
    error_message = "Every alarm notifies the topic when it starts and when it ends."
  }

  assert {
    condition     = length(aws_sns_topic.alarms) == 0
    error_message = "No topic is created beside the given one."
  }
}

run "rollback" {
  command = plan

  variables {
    function_versions = { orchestrator = "7", stream-router = "9" }
  }

  assert {
    condition     = aws_lambda_alias.live["orchestrator"].function_version == "7" && aws_lambda_alias.stream["control"].function_version == "9"
    error_message = "A rollback returns to versions with one variable."
  }

  assert {
    condition     = alltrue([for f in aws_lambda_function.this : f.publish])
    error_message = "Every change becomes a version."
  }
}

run "platform_inputs" {
  command = plan

  variables {
    architecture             = "x86_64"
    permissions_boundary_arn = "arn:aws:iam::123456789012:policy/boundary"
    reserved_concurrency     = { event-sink = 20 }
    xray_tracing             = true
    sfn_log_level            = "ALL"
    kms_key_arn              = "arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555"
    vpc_config = {
      all          = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
      orchestrator = { subnet_ids = ["subnet-2"], security_group_ids = ["sg-2"] }
    }
  }

  assert {
    condition     = alltrue([for r in aws_iam_role.function : r.permissions_boundary == "arn:aws:iam::123456789012:policy/boundary"]) && alltrue([for r in aws_iam_role.service : r.permissions_boundary == "arn:aws:iam::123456789012:policy/boundary"])
    error_message = "Every role has the boundary."
  }

  assert {
    condition     = aws_lambda_function.this["event-sink"].reserved_concurrent_executions == 20 && aws_lambda_function.this["orchestrator"].reserved_concurrent_executions == -1
    error_message = "Concurrency is reserved only for the named function."
  }

  assert {
    condition     = contains(aws_lambda_function.this["orchestrator"].vpc_config[0].subnet_ids, "subnet-2") && contains(aws_lambda_function.this["event-sink"].vpc_config[0].security_group_ids, "sg-1")
    error_message = "A function is in its own network, or in the one for all."
  }

  assert {
    condition     = alltrue([for f in aws_lambda_function.this : contains(f.architectures, "x86_64") && f.tracing_config[0].mode == "Active"])
    error_message = "Architecture and tracing apply to every function."
  }

  assert {
    condition     = aws_sfn_state_machine.pipeline.tracing_configuration[0].enabled && aws_sfn_state_machine.pipeline.logging_configuration[0].level == "ALL" && !aws_sfn_state_machine.pipeline.logging_configuration[0].include_execution_data
    error_message = "The state machine is traced and logs its states, never its data."
  }

  assert {
    condition     = length(aws_kms_key.this) == 0 && alltrue([for f in aws_lambda_function.this : f.kms_key_arn == "arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555"])
    error_message = "The caller's key is used, and no other is created."
  }

  assert {
    condition     = alltrue([for d in data.aws_iam_policy_document.common : anytrue([for s in d.statement : s.sid == "Key" && anytrue([for c in s.condition : c.variable == "kms:ViaService"])])])
    error_message = "Functions use the key only through the services that encrypt with it."
  }
}

run "secrets" {
  command = plan

  variables {
    job_secret_arns    = ["arn:aws:secretsmanager:eu-west-1:123456789012:secret:warehouse-??????"]
    job_parameter_arns = ["arn:aws:ssm:eu-west-1:123456789012:parameter/orders/token"]
  }

  assert {
    condition     = anytrue([for s in data.aws_iam_policy_document.orchestrator.statement : s.sid == "Secrets" && contains(s.resources, "arn:aws:secretsmanager:eu-west-1:123456789012:secret:warehouse-??????")])
    error_message = "The orchestrator may read the named secrets."
  }

  assert {
    condition     = anytrue([for s in data.aws_iam_policy_document.orchestrator.statement : s.sid == "Parameters" && contains(s.resources, "arn:aws:ssm:eu-west-1:123456789012:parameter/orders/token")])
    error_message = "The orchestrator may read the named parameters."
  }
}

run "source_events" {
  command = plan

  variables {
    source_events = { landed = { pattern = "{\"source\":[\"aws.s3\"],\"detail-type\":[\"Object Created\"]}" } }
  }

  assert {
    condition     = aws_cloudwatch_event_rule.source["landed"].event_bus_name == "default" && aws_lambda_permission.source["landed"].principal == "events.amazonaws.com"
    error_message = "Events of the default bus go to stream-router."
  }
}

run "files_become_rows" {
  command = plan

  variables {
    pipelines_path = "tests/pipelines"
  }

  # No function checks the files here, so whether there are warnings stays unknown in the plan.
  # Terraform counts that as a failed check.
  expect_failures = [check.files]

  assert {
    condition     = jsondecode(aws_dynamodb_table_item.file["PIPELINE#orders"].item).SK.S == "CONFIG"
    error_message = "A file becomes a row under the id of its pipeline."
  }
}

run "roles_of_two_regions_differ" {
  command = plan

  assert {
    condition     = alltrue([for name, r in aws_iam_role.function : r.name == "test-interlock-eu-west-1-${name}"]) && alltrue([for name, r in aws_iam_role.service : r.name == "test-interlock-eu-west-1-${name}"])
    error_message = "Roles are of the account: their names contain the region."
  }
}

run "commands_are_off" {
  command = plan

  assert {
    condition     = alltrue([for name in ["stream-router", "orchestrator"] : aws_lambda_function.this[name].environment[0].variables.JOB_TYPES == "http,airflow,databricks,external"])
    error_message = "By default no job may run a program, nor what needs permissions."
  }
}

run "commands_on_request" {
  command = plan

  variables {
    enable_command_trigger = true
  }

  assert {
    condition     = aws_lambda_function.this["orchestrator"].environment[0].variables.JOB_TYPES == "http,airflow,databricks,external,command"
    error_message = "enable_command_trigger allows jobs of type command."
  }
}
