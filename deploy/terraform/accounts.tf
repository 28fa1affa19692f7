# Two identities: the function, and whoever calls it by the clock, from the queue or from the topic.
resource "google_service_account" "function" {
  account_id   = var.service
  display_name = "DiffMem, the function itself"
  depends_on   = [google_project_service.used]
}

resource "google_service_account" "caller" {
  account_id   = "${var.service}-caller"
  display_name = "DiffMem, scheduled and queued calls"
  depends_on   = [google_project_service.used]
}

resource "google_cloud_run_v2_service_iam_member" "caller" {
  name     = google_cloud_run_v2_service.function.name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.caller.member
}

resource "google_cloud_run_v2_service_iam_member" "invoker" {
  for_each = var.auth == "iam" ? toset(compact(split(",", var.invokers))) : toset([])

  name     = google_cloud_run_v2_service.function.name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.value
}
