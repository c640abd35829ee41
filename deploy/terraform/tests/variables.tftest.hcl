# Invalid variables. Each run fails for the named reason only.

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

run "environment_in_capitals" {
  command = plan

  variables {
    environment = "Prod"
  }

  expect_failures = [var.environment]
}

run "source_event_without_a_name" {
  command = plan

  variables {
    source_events = { "S3 events" = { pattern = "{}" } }
  }

  expect_failures = [var.source_events]
}

run "source_event_without_a_pattern" {
  command = plan

  variables {
    source_events = { landed = { pattern = "aws.s3" } }
  }

  expect_failures = [var.source_events]
}

run "alarms_to_nobody" {
  command = plan

  variables {
    alarms = "topic"
  }

  expect_failures = [var.alarms]
}

run "alarms_to_a_topic_that_is_refused" {
  command = plan

  variables {
    alarm_emails = ["data-platform@example.com"]
  }

  expect_failures = [var.alarms]
}

run "alarms_to_a_pager" {
  command = plan

  variables {
    alarms       = "pager"
    alarm_emails = ["data-platform@example.com"]
  }

  expect_failures = [var.alarms]
}

run "version_of_no_function" {
  command = plan

  variables {
    function_versions = { router = "5" }
  }

  expect_failures = [var.function_versions]
}

run "version_by_name" {
  command = plan

  variables {
    function_versions = { orchestrator = "live" }
  }

  expect_failures = [var.function_versions]
}

run "watchdog_by_cron" {
  command = plan

  variables {
    watchdog_schedule = "cron(0 * * * ? *)"
  }

  expect_failures = [var.watchdog_schedule]
}

run "execution_too_short" {
  command = plan

  variables {
    sfn_timeout_seconds = 300
  }

  expect_failures = [var.sfn_timeout_seconds]
}

run "execution_too_long" {
  command = plan

  variables {
    sfn_timeout_seconds = 31536001
  }

  expect_failures = [var.sfn_timeout_seconds]
}

run "no_start" {
  command = plan

  variables {
    trigger_max_attempts = 0
  }

  expect_failures = [var.trigger_max_attempts]
}

run "events_kept_for_no_day" {
  command = plan

  variables {
    events_ttl_days = 0
  }

  expect_failures = [var.events_ttl_days]
}

run "glue_without_jobs" {
  command = plan

  variables {
    enable_glue_trigger = true
  }

  expect_failures = [var.glue_job_arns]
}

run "emr_without_clusters" {
  command = plan

  variables {
    enable_emr_trigger = true
  }

  expect_failures = [var.emr_cluster_arns]
}

run "emr_serverless_without_applications" {
  command = plan

  variables {
    enable_emr_serverless_trigger = true
  }

  expect_failures = [var.emr_serverless_application_arns, var.emr_serverless_execution_role_arns]
}

run "sfn_without_machines" {
  command = plan

  variables {
    enable_sfn_trigger = true
  }

  expect_failures = [var.sfn_trigger_arns]
}

run "lambda_without_functions" {
  command = plan

  variables {
    enable_lambda_trigger = true
  }

  expect_failures = [var.lambda_trigger_arns]
}

run "slack_token_twice" {
  command = plan

  variables {
    slack_secret_arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:slack"
    slack_bot_token  = "xoxb-1"
  }

  expect_failures = [var.slack_bot_token]
}

run "unknown_architecture" {
  command = plan

  variables {
    architecture = "riscv"
  }

  expect_failures = [var.architecture]
}

run "network_of_no_function" {
  command = plan

  variables {
    vpc_config = { router = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] } }
  }

  expect_failures = [var.vpc_config]
}

run "concurrency_of_no_function" {
  command = plan

  variables {
    reserved_concurrency = { router = 5 }
  }

  expect_failures = [var.reserved_concurrency]
}

run "no_concurrency" {
  command = plan

  variables {
    reserved_concurrency = { event-sink = 0 }
  }

  expect_failures = [var.reserved_concurrency]
}

run "unknown_log_level" {
  command = plan

  variables {
    sfn_log_level = "DEBUG"
  }

  expect_failures = [var.sfn_log_level]
}

run "traces_with_another_variable" {
  command = plan

  variables {
    trace_environment = { COLLECTOR = "https://collector.example.com" }
  }

  expect_failures = [var.trace_environment]
}
