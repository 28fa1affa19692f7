output "url" {
  description = "Where the function answers; deploy/smoke.sh takes it."
  value       = google_cloud_run_v2_service.function.uri
}

output "pubsub_hook" {
  description = "What a hook of the kind pubsub in DIFFMEM_HOOKS expects of the tokens of PUBSUB_TOPIC's messages."
  value       = { kind = "pubsub", audience = local.audience, email = google_service_account.caller.email }
}

output "kept_by_destroy" {
  description = "What `destroy` leaves, and goes on being billed."
  value       = ["gs://${google_storage_bucket.memory.name}", google_secret_manager_secret.id.id]
}
