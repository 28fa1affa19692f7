# The memory. Soft delete and versioning are off, so that what was erased is gone; backups are yours to make (deploy/README.md).
# `destroy` lets go of the bucket and leaves it where it is.
resource "google_storage_bucket" "memory" {
  name                        = var.bucket
  location                    = var.region
  storage_class               = "STANDARD"
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false
  deletion_policy             = "ABANDON"

  soft_delete_policy {
    retention_duration_seconds = 0
  }

  versioning {
    enabled = false
  }

  depends_on = [google_project_service.used]
}

# Objects, and the bucket's own settings, which the receipt of an erasure reports. Nothing else in the project.
resource "google_storage_bucket_iam_member" "function" {
  for_each = toset(["roles/storage.objectUser", "roles/storage.legacyBucketReader"])

  bucket = google_storage_bucket.memory.name
  role   = each.value
  member = google_service_account.function.member
}
