# What calls the function without a person: a queue for distilling later, the clock, and a topic whose messages become sessions.
locals {
  # What tokens for this service are made out to: known before it exists, so a hook's configuration can name it.
  audience = var.service

  # The address that Cloud Run derives from the name and the project's number; the service is told of it before it exists.
  url = "https://${var.service}-${data.google_project.this.number}.${var.region}.run.app"

  tasks_credentials = {
    iam = "&service_account=${google_service_account.caller.email}&audience=${local.audience}"
    key = "&key=${var.tasks_key}"
  }
  tasks_queue = var.auth == "key" && var.tasks_key == "" ? "" : join("", [
    "projects/${var.project}/locations/${var.region}/queues/${google_cloud_tasks_queue.distill.name}",
    "?url=${local.url}",
    local.tasks_credentials[var.auth],
  ])
}

data "google_project" "this" {
  depends_on = [google_project_service.used]
}

resource "google_cloud_tasks_queue" "distill" {
  name     = "${var.service}-distill"
  location = var.region

  rate_limits {
    max_concurrent_dispatches = var.threads * var.max_instances
  }

  # A user's writes exclude each other, a model takes seconds, and each attempt asks it: back off to one an hour. Cloud Tasks
  # gives up when both limits are reached, after a day here; what then still waits is distilled with the user's next session.
  retry_config {
    max_attempts       = 30
    max_retry_duration = "86400s"
    min_backoff        = "10s"
    max_backoff        = "3600s"
  }

  depends_on = [google_project_service.used]
}

resource "google_cloud_tasks_queue_iam_member" "function" {
  name     = google_cloud_tasks_queue.distill.name
  location = var.region
  role     = "roles/cloudtasks.enqueuer"
  member   = google_service_account.function.member
}

# A queued call carries a token of the caller; to ask for one, the function must be allowed to act as it.
resource "google_service_account_iam_member" "function_as_caller" {
  count = var.auth == "iam" ? 1 : 0

  service_account_id = google_service_account.caller.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.function.member
}

resource "google_cloud_run_v2_job_iam_member" "caller" {
  name     = google_cloud_run_v2_job.maintain.name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.caller.member
}

resource "google_cloud_scheduler_job" "maintain" {
  name        = "${var.service}-maintain"
  description = "Keeps house in every user's memory"
  schedule    = var.maintain_schedule
  time_zone   = var.time_zone

  http_target {
    http_method = "POST"
    uri         = "https://run.googleapis.com/v2/${google_cloud_run_v2_job.maintain.id}:run"

    oauth_token {
      service_account_email = google_service_account.caller.email
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_cloud_scheduler_job" "distill" {
  for_each = toset(compact(split(",", var.distill_users)))

  name             = "${var.service}-distill-${substr(sha256(each.value), 0, 12)}"
  description      = "Distils what is pending for one user"
  schedule         = var.distill_schedule
  time_zone        = var.time_zone
  attempt_deadline = "${min(1800, max(15, var.timeout))}s" # Cloud Scheduler takes no others

  http_target {
    http_method = "POST"
    uri         = "${google_cloud_run_v2_service.function.uri}/v1/users/${urlencode(each.value)}/distill"
    headers     = { "Content-Type" = "application/json" }
    body        = base64encode("{}")

    oidc_token {
      service_account_email = google_service_account.caller.email
      audience              = local.audience
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_pubsub_topic" "sessions" {
  count = var.pubsub_topic == "" ? 0 : 1

  name       = var.pubsub_topic
  depends_on = [google_project_service.used]

  message_storage_policy {
    allowed_persistence_regions = [var.region]
  }
}

resource "google_pubsub_subscription" "push" {
  count = var.pubsub_topic == "" ? 0 : 1

  name                 = "${var.service}-push"
  topic                = google_pubsub_topic.sessions[0].id
  ack_deadline_seconds = min(600, max(10, var.timeout))

  push_config {
    push_endpoint = "${google_cloud_run_v2_service.function.uri}/v1/hooks/${var.pubsub_hook}"

    oidc_token {
      service_account_email = google_service_account.caller.email
      audience              = local.audience
    }
  }

  expiration_policy {
    ttl = ""
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }
}
