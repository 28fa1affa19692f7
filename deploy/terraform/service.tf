# The function as a Cloud Run service, and the job that keeps house with the same image and the same configuration.
locals {
  environment = {
    for name, value in {
      DIFFMEM_STORE             = "gs://${google_storage_bucket.memory.name}"
      DIFFMEM_AUTH              = var.auth
      DIFFMEM_CACHE_MAX_BYTES   = tostring(var.cache_max_bytes)
      DIFFMEM_MODEL             = var.model
      DIFFMEM_WRITER_MODEL      = var.writer_model
      DIFFMEM_SANDBOX           = var.sandbox
      DIFFMEM_SESSION_GAP_S     = var.session_gap_s
      DIFFMEM_RATE_LIMIT        = var.rate_limit
      DIFFMEM_TASKS_QUEUE       = local.tasks_queue
      OPENAI_BASE_URL           = var.openai_base_url
      GOOGLE_CLOUD_PROJECT      = var.project
      CLOUD_RUN_TIMEOUT_SECONDS = tostring(var.timeout)
      THREADS                   = tostring(var.threads)
    } : name => value if value != ""
  }

  secret_variables = {
    openai-api-key = "OPENAI_API_KEY"
    api-keys       = "DIFFMEM_API_KEYS"
    hooks          = "DIFFMEM_HOOKS"
  }

  # By the number of the version, so that a rotation is a new revision. The secret that names objects is the first one for ever.
  secret_environment = merge(
    { DIFFMEM_ID_SECRET = { secret = google_secret_manager_secret.id.secret_id, version = "1" } },
    {
      for name in local.secrets : local.secret_variables[name] => {
        secret  = google_secret_manager_secret.rotating[name].secret_id
        version = google_secret_manager_secret_version.rotating[name].version
      }
    },
  )
}

resource "google_cloud_run_v2_service" "function" {
  name                 = var.service
  location             = var.region
  ingress              = "INGRESS_TRAFFIC_ALL"
  invoker_iam_disabled = var.auth == "key"
  custom_audiences     = [local.audience]
  deletion_protection  = false

  template {
    service_account                  = google_service_account.function.email
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"
    max_instance_request_concurrency = var.threads
    timeout                          = "${var.timeout}s"

    scaling {
      min_instance_count = var.min_instances
      max_instance_count = var.max_instances
    }

    containers {
      image = var.image

      resources {
        limits            = { cpu = var.cpu, memory = var.memory }
        cpu_idle          = true
        startup_cpu_boost = true
      }

      dynamic "env" {
        for_each = local.environment
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = local.secret_environment
        content {
          name = env.key
          value_source {
            secret_key_ref {
              secret  = env.value.secret
              version = env.value.version
            }
          }
        }
      }
    }
  }

  depends_on = [
    google_secret_manager_secret_iam_member.id,
    google_secret_manager_secret_iam_member.rotating,
    google_secret_manager_secret_version.id,
    google_storage_bucket_iam_member.function,
  ]
}

# Garbage, rebuilds and unfinished erasures, for every user: python -m diffmem maintain.
resource "google_cloud_run_v2_job" "maintain" {
  name                = "${var.service}-maintain"
  location            = var.region
  deletion_protection = false

  template {
    template {
      service_account       = google_service_account.function.email
      execution_environment = "EXECUTION_ENVIRONMENT_GEN2"
      timeout               = "3900s" # it ends itself after an hour, and says what it did
      max_retries           = 1

      containers {
        image   = var.image
        command = ["python3"]
        args    = ["-m", "diffmem", "maintain"]

        resources {
          limits = { cpu = var.cpu, memory = var.memory }
        }

        env {
          name  = "DIFFMEM_STORE"
          value = "gs://${google_storage_bucket.memory.name}"
        }

        env {
          name = "DIFFMEM_ID_SECRET"
          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.id.secret_id
              version = "1"
            }
          }
        }
      }
    }
  }

  depends_on = [
    google_secret_manager_secret_iam_member.id,
    google_secret_manager_secret_version.id,
    google_storage_bucket_iam_member.function,
  ]
}
