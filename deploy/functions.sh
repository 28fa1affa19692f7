#!/usr/bin/env bash
# Deploy the source as the Cloud Run function $SERVICE, with its bucket, account and secrets. Prints the URL.
#
#   PROJECT=my-project deploy/functions.sh      settings: deploy/settings.sh; a second run changes nothing; FORCE=1 deploys again
#
# The base image is named because the default one (google-22, google-24) has no git; google-22-full has it.
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
deploy_service "$(source_digest)" --source=. --function=diffmem --base-image="google-22-full/python${PYTHON_VERSION/./}"
