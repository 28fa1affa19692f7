#!/usr/bin/env bash
# Take down what cloud-run.sh or functions.sh deployed: the service. The memory and its secrets stay.
#
#   PROJECT=my-project deploy/destroy.sh        what Terraform made, deploy/terraform.sh destroy takes down
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/settings.sh
. deploy/prepare.sh

found=$(look run services describe "$SERVICE" --project="$PROJECT" --region="$REGION" --format='value(metadata.name)')
if [ -n "$found" ]; then
    gcloud run services delete "$SERVICE" --project="$PROJECT" --region="$REGION" --quiet
fi
cat <<KEPT
The service is gone. Kept, and still billed, until you delete them yourself:
  the memory of every user        gcloud storage rm --recursive gs://$BUCKET
  what names their objects        gcloud secrets delete $SERVICE-id-secret      without it the bucket cannot be read by user
  keys                            gcloud secrets delete $SERVICE-openai-api-key $SERVICE-api-keys $SERVICE-hooks, one by one
  the images                      gcloud artifacts repositories delete $SERVICE --location=$REGION
  the service account             gcloud iam service-accounts delete $(account)
KEPT
