#!/usr/bin/env bash
# Build the image and run it as the Cloud Run service $SERVICE, with its bucket, account and secrets. Prints the URL.
#
#   PROJECT=my-project deploy/cloud-run.sh      settings: deploy/settings.sh; a second run changes nothing; FORCE=1 deploys again
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/settings.sh
. deploy/prepare.sh
. deploy/service.sh

enable_services artifactregistry cloudbuild run secretmanager storage
ensure_bucket
ensure_account
ensure_access
ensure_secrets
image=$(ensure_image)
deploy_service "$image" --image="$image"
