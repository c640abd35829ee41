# Interlock in your AWS account, with the pipelines in ./pipelines. Run in this folder:
#   make -C ../.. lambda
#   terraform init && terraform apply -var environment=dev -var alarm_email=you@example.com
terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.82, < 7.0"
    }
  }
}

provider "aws" {
  region = var.region
}

variable "region" {
  description = "Where to deploy."
  type        = string
  default     = "eu-central-1"
}

variable "environment" {
  description = "The prefix of all resource names."
  type        = string
}

variable "alarm_email" {
  description = "The address that receives alarms when Interlock itself is down. Confirm the subscription that AWS sends."
  type        = string
}

variable "deletion_protection" {
  description = "Whether terraform destroy is refused."
  type        = bool
  default     = true
}

variable "function_versions" {
  description = "The versions to roll back to, as the output of this name printed them before an upgrade. Empty: the newest."
  type        = map(string)
  default     = {}
}

module "interlock" {
  source = "../../deploy/terraform"

  environment    = var.environment
  dist_path      = "${path.module}/../../dist"
  pipelines_path = "${path.module}/pipelines"
  calendars_path = "${path.module}/calendars"
  sources_path   = "${path.module}/sources"
  alarm_emails   = [var.alarm_email]
  tags           = { Team = "data-platform" }

  deletion_protection = var.deletion_protection
  function_versions   = var.function_versions

  # The events that the files in ./sources read. The bucket sends its events to EventBridge.
  source_events = {
    rates = {
      pattern = jsonencode({ source = ["aws.s3"], "detail-type" = ["Object Created"], detail = { bucket = { name = ["rates.example.com"] } } })
    }
  }
}

output "store_url" {
  description = "interlock --store URL status"
  value       = module.interlock.store_url
}

output "control_table" {
  description = "Where sensors are written."
  value       = module.interlock.table_names.control
}

output "console_urls" {
  description = "Dashboard, alarms, executions, tables and logs."
  value       = module.interlock.console_urls
}

output "function_versions" {
  description = "Keep this before an upgrade: it is the rollback."
  value       = module.interlock.function_versions
}

output "dead_letter_queue_urls" {
  description = "The dead-letter queues, for when an alarm rings."
  value       = module.interlock.dead_letter_queue_urls
}
