variable "environment" {
  description = "What all names begin with, such as prod: prod-interlock-control."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,19}$", var.environment))
    error_message = "Use 1 to 20 lower case letters, digits and dashes, the first a letter."
  }
}

variable "dist_path" {
  description = "Folder of the six zip files that deploy/build.sh makes."
  type        = string
}

variable "pipelines_path" {
  description = "Folder of pipeline files; null leaves the table's CONFIG rows to others."
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
  description = "Folder of source files, which say what the events of source_events are facts of."
  type        = string
  default     = null
}

variable "source_events" {
  description = "Events of EventBridge that the source files see, by a name: their pattern as JSON, and the bus that has them."
  type = map(object({
    pattern        = string
    event_bus_name = optional(string, "default")
  }))
  default = {}

  validation {
    condition     = alltrue([for name in keys(var.source_events) : can(regex("^[a-z][a-z0-9-]{0,29}$", name))])
    error_message = "Name each of them with 1 to 30 lower case letters, digits and dashes, the first a letter."
  }

  validation {
    condition     = alltrue([for of in values(var.source_events) : can(keys(jsondecode(of.pattern)))])
    error_message = "A pattern is a JSON object, such as jsonencode({ source = [\"aws.s3\"] })."
  }
}

variable "interlock_path" {
  description = "The interlock command that checks the files before they are deployed."
  type        = string
  default     = "interlock"
}

variable "files_checked_by" {
  description = "What checks the files before they are put: the interlock command of this machine, or the deployed function."
  type        = string
  default     = "command"

  validation {
    condition     = contains(["command", "function"], var.files_checked_by)
    error_message = "Write command or function."
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
  description = "How often the watchdog looks: a rate, because it has to know how long it was away."
  type        = string
  default     = "rate(5 minutes)"

  validation {
    condition     = can(regex("^rate\\((1 (minute|hour)|([2-9]|[1-9][0-9]+) (minutes|hours))\\)$", var.watchdog_schedule))
    error_message = "Write a rate of minutes or hours, such as rate(5 minutes)."
  }
}

variable "sfn_timeout_seconds" {
  description = "Longest time of an execution. A file whose window and poll window need more is rejected."
  type        = number
  default     = 14400

  validation {
    condition     = var.sfn_timeout_seconds >= 600 && var.sfn_timeout_seconds <= 31536000 && floor(var.sfn_timeout_seconds) == var.sfn_timeout_seconds
    error_message = "Write a whole number of seconds, from 600 (an attempt ends five minutes earlier) to 31536000 (a year, which Step Functions allows)."
  }
}

variable "trigger_max_attempts" {
  description = "How often a refused start is made in all."
  type        = number
  default     = 3

  validation {
    condition     = var.trigger_max_attempts >= 1 && floor(var.trigger_max_attempts) == var.trigger_max_attempts
    error_message = "Write a whole number from 1 on."
  }
}

variable "events_ttl_days" {
  description = "How long events are kept."
  type        = number
  default     = 90

  validation {
    condition     = var.events_ttl_days >= 1 && floor(var.events_ttl_days) == var.events_ttl_days
    error_message = "Write a whole number of days from 1 on."
  }
}

variable "job_environment" {
  description = "Variables that $${env:NAME} in the configuration of jobs may read."
  type        = map(string)
  default     = {}
  sensitive   = true
}

variable "egress_allow" {
  description = "Hosts and networks that jobs may call beside public addresses."
  type        = list(string)
  default     = []
}

variable "enable_glue_trigger" {
  description = "Let jobs of type glue be started."
  type        = bool
  default     = false
}

variable "glue_job_arns" {
  description = "The Glue jobs that may be."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_glue_trigger || length(var.glue_job_arns) > 0
    error_message = "enable_glue_trigger needs the ARN of at least one Glue job."
  }
}

variable "glue_log_group_names" {
  description = "Where the Glue jobs log to; a job that says it succeeded is looked up there."
  type        = list(string)
  default     = ["/aws-glue/jobs/logs-v2"]
}

variable "enable_emr_trigger" {
  description = "Let jobs of type emr be started."
  type        = bool
  default     = false
}

variable "emr_cluster_arns" {
  description = "The EMR clusters that may get steps."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_emr_trigger || length(var.emr_cluster_arns) > 0
    error_message = "enable_emr_trigger needs the ARN of at least one cluster."
  }
}

variable "enable_emr_serverless_trigger" {
  description = "Let jobs of type emr-serverless be started."
  type        = bool
  default     = false
}

variable "emr_serverless_application_arns" {
  description = "The EMR Serverless applications that may be used."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_emr_serverless_trigger || length(var.emr_serverless_application_arns) > 0
    error_message = "enable_emr_serverless_trigger needs the ARN of at least one application."
  }
}

variable "emr_serverless_execution_role_arns" {
  description = "The roles that its jobs may run as."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_emr_serverless_trigger || length(var.emr_serverless_execution_role_arns) > 0
    error_message = "enable_emr_serverless_trigger needs the ARN of at least one role that its jobs run as."
  }
}

variable "enable_sfn_trigger" {
  description = "Let jobs of type step-function be started."
  type        = bool
  default     = false
}

variable "sfn_trigger_arns" {
  description = "The state machines that may be executed."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_sfn_trigger || length(var.sfn_trigger_arns) > 0
    error_message = "enable_sfn_trigger needs the ARN of at least one state machine."
  }
}

variable "enable_lambda_trigger" {
  description = "Let jobs of type lambda be started."
  type        = bool
  default     = false
}

variable "lambda_trigger_arns" {
  description = "The functions that may be invoked."
  type        = list(string)
  default     = []

  validation {
    condition     = !var.enable_lambda_trigger || length(var.lambda_trigger_arns) > 0
    error_message = "enable_lambda_trigger needs the ARN of at least one function."
  }
}

variable "slack_channel_id" {
  description = "Where alerts go. Without it, or without a token, they are logged."
  type        = string
  default     = null
}

variable "slack_secret_arn" {
  description = "The secret in Secrets Manager that holds Slack's bot token."
  type        = string
  default     = null
}

variable "slack_bot_token" {
  description = "The bot token itself, which then stands in Terraform's state: better a secret."
  type        = string
  default     = null
  sensitive   = true

  validation {
    condition     = var.slack_bot_token == null || var.slack_secret_arn == null
    error_message = "Give slack_secret_arn or slack_bot_token, not both."
  }
}

variable "kms_key_arn" {
  description = "The key for everything that is stored; null makes one. EventBridge and CloudWatch Logs must be able to use it."
  type        = string
  default     = null
}

variable "sns_alarm_topic_arn" {
  description = "A topic that hears of every alarm, too."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether the tables refuse to be deleted."
  type        = bool
  default     = true
}

variable "tags" {
  description = "Tags of everything."
  type        = map(string)
  default     = {}
}

variable "architecture" {
  description = "Processor of the functions, arm64 or x86_64: that of the zip files (`make lambda ARCH=x86_64`)."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "Write arm64 or x86_64."
  }
}

variable "vpc_config" {
  description = "Networks of the functions, by function or for \"all\": subnets and security groups. They need a way to the AWS services: endpoints or NAT."
  type        = map(object({ subnet_ids = list(string), security_group_ids = list(string) }))
  default     = {}

  validation {
    condition = alltrue([for name in keys(var.vpc_config) : contains(
    ["all", "stream-router", "orchestrator", "sla-monitor", "watchdog", "event-sink", "alert-dispatcher"], name)])
    error_message = "Name functions, or all."
  }
}

variable "permissions_boundary_arn" {
  description = "A permissions boundary of all roles."
  type        = string
  default     = null
}

variable "reserved_concurrency" {
  description = "Reserved concurrency by function, such as { event-sink = 20 }. It is part of what the account has."
  type        = map(number)
  default     = {}

  validation {
    condition = alltrue([for name, n in var.reserved_concurrency : n >= 1 && contains(
    ["stream-router", "orchestrator", "sla-monitor", "watchdog", "event-sink", "alert-dispatcher"], name)])
    error_message = "Name functions, each with at least 1."
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
  description = "Keys of yours that these secrets and parameters are encrypted with."
  type        = list(string)
  default     = []
}

variable "heartbeat_url" {
  description = "A URL that the watchdog pings after each healthy pass: that of a service that tells when pings stop."
  type        = string
  default     = null
  sensitive   = true
}
