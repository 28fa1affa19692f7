# What calls the function without a person: a queue for distilling later, the clock, and a topic whose messages become sessions.
locals {
  # Spelled out: the service is told of the queue, and the queue of the service.
  queue = "projects/${var.project}/locations/${var.region}/queues/${var.service}-distill"
}

resource "google_cloud_tasks_queue" "distill" {
  name     = "${var.service}-distill"
  location = var.region

  # With iam the queue itself puts a token on each call, so the function need not be allowed to act as the caller.
  dynamic "http_target" {
    for_each = var.auth == "iam" ? [true] : []
    content {
      oidc_token {
        service_account_email = google_service_account.caller.email
        audience              = google_cloud_run_v2_service.function.uri
      }
    }
  }

  rate_limits {
    max_concurrent_dispatches = var.threads * var.max_instances
  }

  # A user's writes exclude each other and a model takes seconds: back off, and give up after a day.
  retry_config {
    max_attempts       = -1
    max_retry_duration = "86400s"
    min_backoff        = "10s"
    max_backoff        = "600s"
  }

  depends_on = [google_project_service.used]
}

resource "google_cloud_tasks_queue_iam_member" "function" {
  name     = google_cloud_tasks_queue.distill.name
  location = var.region
  role     = "roles/cloudtasks.enqueuer"
  member   = google_service_account.function.member
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
  attempt_deadline = "${var.timeout}s"

  http_target {
    http_method = "POST"
    uri         = "${google_cloud_run_v2_service.function.uri}/v1/users/${urlencode(each.value)}/distill"
    headers     = { "Content-Type" = "application/json" }
    body        = base64encode("{}")

    oidc_token {
      service_account_email = google_service_account.caller.email
      audience              = google_cloud_run_v2_service.function.uri
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
      audience              = google_cloud_run_v2_service.function.uri
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
