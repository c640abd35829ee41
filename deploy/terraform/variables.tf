variable "environment" {
  description = "The prefix of all names: prod gives prod-interlock-control."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,19}$", var.environment))
    error_message = "Use 1 to 20 lower case letters, digits and dashes, starting with a letter."
  }
}

variable "dist_path" {
  description = "Folder of the six zip files that deploy/build.sh builds."
  type        = string
}

variable "pipelines_path" {
  description = "Folder of pipeline files. With null, another program writes the CONFIG rows."
  type        = string
  default     = null
}

variable "calendars_path" {
  description = "Folder of calendar files."
  type        = string
  default     = null
}

variable "archetypes_path" {
  description = "Folder of archetype files."
  type        = string
  default     = null
}

variable "sources_path" {
  description = "Folder of source files, which turn the events of source_events into readings."
  type        = string
  default     = null
}

variable "source_events" {
  description = "Events of EventBridge that the source files read, by a name of your choice: their pattern as JSON, and their bus."
  type = map(object({
    pattern        = string
    event_bus_name = optional(string, "default")
  }))
  default = {}

  validation {
    condition     = alltrue([for name in keys(var.source_events) : can(regex("^[a-z][a-z0-9-]{0,29}$", name))])
    error_message = "Use names of 1 to 30 lower case letters, digits and dashes, starting with a letter."
  }

  validation {
    condition     = alltrue([for of in values(var.source_events) : can(keys(jsondecode(of.pattern)))])
    error_message = "A pattern must be a JSON object, such as jsonencode({ source = [\"aws.s3\"] })."
  }
}

variable "lambda_memory_size" {
  description = "Memory of each function, in MB."
  type        = number
  default     = 128
}

variable "log_retention_days" {
  description = "How long the functions' logs are kept."
  type        = number
  default     = 14
}

variable "watchdog_schedule" {
  description = "How often the watchdog runs, as a rate expression. The watchdog needs its interval to detect what it missed."
  type        = string
  default     = "rate(5 minutes)"

  validation {
    condition     = can(regex("^rate\\((1 (minute|hour)|([2-9]|[1-9][0-9]+) (minutes|hours))\\)$", var.watchdog_schedule))
    error_message = "Write a rate of minutes or hours, such as rate(5 minutes)."
  }
}

variable "sfn_timeout_seconds" {
  description = "Time limit of an execution in seconds. Files whose window and poll window need more are rejected."
  type        = number
  default     = 14400

  validation {
    condition     = var.sfn_timeout_seconds >= 600 && var.sfn_timeout_seconds <= 31536000 && floor(var.sfn_timeout_seconds) == var.sfn_timeout_seconds
    error_message = "Write a whole number of seconds, from 600 (an attempt ends five minutes earlier) to 31536000 (a year, which Step Functions allows)."
  }
}

variable "trigger_max_attempts" {
  description = "How often a start is tried in total when the target refuses it."
  type        = number
  default     = 3

  validation {
    condition     = var.trigger_max_attempts >= 1 && floor(var.trigger_max_attempts) == var.trigger_max_attempts
    error_message = "Write a whole number of at least 1."
  }
}

variable "events_ttl_days" {
  description = "How many days events are kept."
  type        = number
  default     = 90

  validation {
    condition     = var.events_ttl_days >= 1 && floor(var.events_ttl_days) == var.events_ttl_days
    error_message = "Write a whole number of days, at least 1."
  }
}

variable "job_environment" {
  description = "Variables that $${env:NAME} in the configuration of jobs may read."
  type        = map(string)
  default     = {}
  sensitive   = true
}

variable "trace_environment" {
  description = "OTEL_* variables of the functions, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS, to send traces to an OpenTelemetry collector."
  type        = map(string)
  default     = {}
  sensitive   = true

  validation {
    condition     = alltrue([for name in keys(var.trace_environment) : can(regex("^OTEL_", name))])
    error_message = "trace_environment may only contain variables whose names begin with OTEL_."
  }
}

variable "egress_allow" {
  description = "Private hosts and networks that jobs may call, besides public addresses."
  type        = list(string)
  default     = []
}

variable "enable_command_trigger" {
  description = "Allow jobs of type command. Anyone who may change a pipeline file can then run any program with the permissions of the orchestrator."
  type        = bool
  default     = false
}

variable "enable_glue_trigger" {
  description = "Allow jobs of type glue."
  type        = bool
  default     = false
}

variable "glue_job_arns" {
  description = "ARNs of the Glue jobs that may be started."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_glue_trigger || length(var.glue_job_arns) > 0
    error_message = "enable_glue_trigger needs the ARN of at least one Glue job."
  }
}

variable "glue_log_group_names" {
  description = "Log groups of the Glue jobs. Interlock searches the log of each job that reports success."
  type        = list(string)
  default     = ["/aws-glue/jobs/logs-v2"]
}

variable "enable_emr_trigger" {
  description = "Allow jobs of type emr."
  type        = bool
  default     = false
}

variable "emr_cluster_arns" {
  description = "ARNs of the EMR clusters to which steps may be added."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_emr_trigger || length(var.emr_cluster_arns) > 0
    error_message = "enable_emr_trigger needs the ARN of at least one cluster."
  }
}

variable "enable_emr_serverless_trigger" {
  description = "Allow jobs of type emr-serverless."
  type        = bool
  default     = false
}

variable "emr_serverless_application_arns" {
  description = "ARNs of the EMR Serverless applications that may run jobs."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_emr_serverless_trigger || length(var.emr_serverless_application_arns) > 0
    error_message = "enable_emr_serverless_trigger needs the ARN of at least one application."
  }
}

variable "emr_serverless_execution_role_arns" {
  description = "ARNs of the roles that EMR Serverless jobs may run as."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_emr_serverless_trigger || length(var.emr_serverless_execution_role_arns) > 0
    error_message = "enable_emr_serverless_trigger needs the ARN of at least one role for the jobs."
  }
}

variable "enable_sfn_trigger" {
  description = "Allow jobs of type step-function."
  type        = bool
  default     = false
}

variable "sfn_trigger_arns" {
  description = "ARNs of the state machines that may be executed."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_sfn_trigger || length(var.sfn_trigger_arns) > 0
    error_message = "enable_sfn_trigger needs the ARN of at least one state machine."
  }
}

variable "enable_lambda_trigger" {
  description = "Allow jobs of type lambda."
  type        = bool
  default     = false
}

variable "lambda_trigger_arns" {
  description = "ARNs of the functions that may be invoked."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_lambda_trigger || length(var.lambda_trigger_arns) > 0
    error_message = "enable_lambda_trigger needs the ARN of at least one function."
  }
}

variable "slack_channel_id" {
  description = "Slack channel for alerts. Without a channel or a token, alerts are only logged."
  type        = string
  default     = null
}

variable "slack_secret_arn" {
  description = "ARN of the secret in Secrets Manager with the Slack bot token."
  type        = string
  default     = null
}

variable "slack_secret_kms_key_arn" {
  description = "ARN of your KMS key that encrypts this secret."
  type        = string
  default     = null
}

variable "slack_bot_token" {
  description = "The Slack bot token. Terraform stores it in its state; prefer slack_secret_arn."
  type        = string
  default     = null
  sensitive   = true

  validation {
    condition     = var.slack_bot_token == null || var.slack_secret_arn == null
    error_message = "Set slack_secret_arn or slack_bot_token, not both."
  }
}

variable "kms_key_arn" {
  description = "ARN of the KMS key for all stored data; null creates one. EventBridge and CloudWatch Logs must be allowed to use it."
  type        = string
  default     = null
}

variable "alarms" {
  description = "Where alarms go besides the events and Slack: topic (sns_alarm_topic_arn, or a new one for alarm_emails), or none, which refuses a topic."
  type        = string
  default     = "topic"

  validation {
    condition     = contains(["topic", "none"], var.alarms)
    error_message = "Write topic or none."
  }

  validation {
    condition     = var.alarms != "topic" || var.sns_alarm_topic_arn != null || length(var.alarm_emails) > 0
    error_message = "No one receives an alarm while Interlock itself is down: set sns_alarm_topic_arn or alarm_emails, or alarms = \"none\" if that is what you want."
  }

  validation {
    condition     = var.alarms != "none" || var.sns_alarm_topic_arn == null && length(var.alarm_emails) == 0
    error_message = "alarms = \"none\" contradicts sns_alarm_topic_arn and alarm_emails."
  }
}

variable "alarm_emails" {
  description = "Addresses that a new SNS topic sends every alarm to, once each has confirmed its subscription."
  type        = list(string)
  default     = []
}

variable "sns_alarm_topic_arn" {
  description = "ARN of an SNS topic that receives every alarm."
  type        = string
  default     = null
}

variable "function_versions" {
  description = "A rollback: versions of functions, such as { orchestrator = \"7\" }. The output function_versions of an earlier apply fits. Functions that it leaves out use their newest version."
  type        = map(string)
  default     = {}

  validation {
    condition = alltrue([for name, version in var.function_versions : can(regex("^[1-9][0-9]*$", version)) && contains(
    ["stream-router", "orchestrator", "sla-monitor", "watchdog", "event-sink", "alert-dispatcher"], name)])
    error_message = "Use names of functions, each with the number of a version."
  }
}

variable "deletion_protection" {
  description = "Whether the tables are protected from deletion."
  type        = bool
  default     = true
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}

variable "architecture" {
  description = "Architecture of the functions, arm64 or x86_64. It must match the zip files (`make lambda ARCH=x86_64`)."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "Write arm64 or x86_64."
  }
}

variable "vpc_config" {
  description = "Subnets and security groups of the functions, by function name or \"all\". The functions must be able to reach the AWS services through endpoints or NAT."
  type        = map(object({ subnet_ids = list(string), security_group_ids = list(string) }))
  default     = {}

  validation {
    condition = alltrue([for name in keys(var.vpc_config) : contains(
    ["all", "stream-router", "orchestrator", "sla-monitor", "watchdog", "event-sink", "alert-dispatcher"], name)])
    error_message = "Use names of functions, or all."
  }
}

variable "permissions_boundary_arn" {
  description = "ARN of the permissions boundary of all roles."
  type        = string
  default     = null
}

variable "reserved_concurrency" {
  description = "Reserved concurrency by function, such as { event-sink = 20 }. It counts towards the account's limit."
  type        = map(number)
  default     = {}

  validation {
    condition = alltrue([for name, n in var.reserved_concurrency : n >= 1 && contains(
    ["stream-router", "orchestrator", "sla-monitor", "watchdog", "event-sink", "alert-dispatcher"], name)])
    error_message = "Use names of functions, each with at least 1."
  }
}

variable "xray_tracing" {
  description = "Trace functions and executions with X-Ray."
  type        = bool
  default     = false
}

variable "sfn_log_level" {
  description = "What the state machine logs: ALL, ERROR, FATAL or OFF. Its data is never logged."
  type        = string
  default     = "ERROR"

  validation {
    condition     = contains(["ALL", "ERROR", "FATAL", "OFF"], var.sfn_log_level)
    error_message = "Write ALL, ERROR, FATAL or OFF."
  }
}

variable "job_secret_arns" {
  description = "Secrets that $${secret:NAME} and $${secret:NAME#key} in the configuration of jobs may read, when a job starts."
  type        = list(string)
  default     = []
}

variable "job_parameter_arns" {
  description = "Parameters of Systems Manager that $${ssm:NAME} may read, when a job starts."
  type        = list(string)
  default     = []
}

variable "job_secret_kms_key_arns" {
  description = "ARNs of your KMS keys that encrypt these secrets and parameters."
  type        = list(string)
  default     = []
}

variable "heartbeat_url" {
  description = "A URL that the watchdog pings after each healthy pass, such as that of a monitoring service that alerts when pings stop."
  type        = string
  default     = null
  sensitive   = true
}
