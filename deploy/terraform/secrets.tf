# Values come through ephemeral variables and write-only arguments: no state and no plan holds them. A value is written when its
# version rises; 0 leaves the secret out.
locals {
  versions = {
    openai-api-key = var.openai_api_key_version
    api-keys       = var.api_keys_version
    hooks          = var.hooks_version
  }
  secrets = toset([for name, version in local.versions : name if version > 0])
}

resource "google_secret_manager_secret" "rotating" {
  for_each  = local.secrets
  secret_id = "${var.service}-${each.value}"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_secret_manager_secret_version" "rotating" {
  for_each = local.secrets
  secret   = google_secret_manager_secret.rotating[each.value].id

  secret_data_wo = {
    openai-api-key = var.openai_api_key
    api-keys       = var.api_keys
    hooks          = var.hooks
  }[each.value]
  secret_data_wo_version = local.versions[each.value]

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_secret_manager_secret_iam_member" "rotating" {
  for_each = local.secrets

  secret_id = google_secret_manager_secret.rotating[each.value].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.function.member
}

# The secret that names users' objects. Its first version is the one in use for ever, also after `destroy`, which leaves it.
resource "google_secret_manager_secret" "id" {
  secret_id       = "${var.service}-id-secret"
  deletion_policy = "ABANDON"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_secret_manager_secret_version" "id" {
  secret                 = google_secret_manager_secret.id.id
  secret_data_wo         = var.id_secret
  secret_data_wo_version = 1
  deletion_policy        = "ABANDON"
}

resource "google_secret_manager_secret_iam_member" "id" {
  secret_id = google_secret_manager_secret.id.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.function.member
}
