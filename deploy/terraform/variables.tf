# The settings of deploy/settings.sh under their names in small letters; it has their defaults and meanings, terraform.sh
# hands them over. A test holds the two lists together.
variable "project" { type = string }
variable "region" { type = string }
variable "service" { type = string }
variable "bucket" { type = string }
variable "image" { type = string }

variable "auth" {
  type = string

  validation {
    condition     = contains(["iam", "key"], var.auth)
    error_message = "AUTH must be iam or key."
  }
}

variable "invokers" { type = string }

variable "openai_base_url" { type = string }
variable "model" { type = string }
variable "writer_model" { type = string }
variable "sandbox" { type = string }
variable "session_gap_s" { type = string }
variable "rate_limit" { type = string }

variable "cpu" { type = string }
variable "memory" { type = string }
variable "cache_max_bytes" { type = number }
variable "threads" { type = number }
variable "timeout" { type = number }
variable "min_instances" { type = number }
variable "max_instances" { type = number }

variable "openai_api_key_version" { type = number }

variable "api_keys_version" {
  type = number

  validation {
    condition     = var.auth != "key" || var.api_keys_version > 0
    error_message = "AUTH=key needs keys: DIFFMEM_API_KEYS=name:key:pattern API_KEYS_VERSION=1."
  }
}

variable "hooks_version" { type = number }

variable "tasks_key" { type = string }
variable "time_zone" { type = string }
variable "maintain_schedule" { type = string }
variable "distill_schedule" { type = string }

variable "distill_users" {
  type = string

  validation {
    condition     = var.distill_users == "" || var.auth == "iam"
    error_message = "DISTILL_USERS needs AUTH=iam: a scheduled job that sends a key would hold it in the state."
  }
}

variable "pubsub_topic" { type = string }

variable "pubsub_hook" {
  type = string

  validation {
    condition     = (var.pubsub_topic == "") == (var.pubsub_hook == "")
    error_message = "PUBSUB_TOPIC and PUBSUB_HOOK are set together or not at all."
  }
}

# The values of secrets: ephemeral, so that no state and no plan holds them.
variable "openai_api_key" {
  type      = string
  ephemeral = true
  default   = ""
}

variable "api_keys" {
  type      = string
  ephemeral = true
  default   = ""
}

variable "hooks" {
  type      = string
  ephemeral = true
  default   = ""
}

variable "id_secret" {
  type      = string
  ephemeral = true
  default   = ""
}
