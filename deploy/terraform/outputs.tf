output "url" {
  description = "Where the function answers; deploy/smoke.sh takes it."
  value       = google_cloud_run_v2_service.function.uri
}

output "caller" {
  description = "The account in the tokens of scheduled, queued and pushed calls; a Pub/Sub hook names it."
  value       = google_service_account.caller.email
}

output "kept_by_destroy" {
  description = "What `destroy` leaves, and goes on being billed."
  value       = ["gs://${google_storage_bucket.memory.name}", google_secret_manager_secret.id.id]
}
