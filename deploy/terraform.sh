#!/usr/bin/env bash
# Terraform with the settings of deploy/settings.sh: deploy/terraform.sh plan | apply | destroy | output | ...
#
#   PROJECT=my-project deploy/terraform.sh apply                       everything, the first time
#   OPENAI_API_KEY=... OPENAI_API_KEY_VERSION=1 deploy/terraform.sh apply      with a model; the key enters no state and no plan
#   TERRAFORM=tofu deploy/terraform.sh plan                            OpenTofu 1.11 or newer
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/settings.sh
. deploy/prepare.sh
terraform=${TERRAFORM:-terraform}
command=${1:?usage: deploy/terraform.sh plan | apply | destroy | output | ...}

hand_over_settings() {
    local name
    while read -r name; do
        export "TF_VAR_${name,,}=${!name}"
    done < <(sed -n 's/^: "${\([A-Z_]*\):[=?].*/\1/p' deploy/settings.sh)
    export TF_VAR_openai_api_key=${OPENAI_API_KEY:-} TF_VAR_api_keys=${DIFFMEM_API_KEYS:-} TF_VAR_hooks=${DIFFMEM_HOOKS:-}
    # Used by the apply that creates the secret, and by no other.
    TF_VAR_id_secret=$(random_secret)
    export TF_VAR_id_secret
}

case $command in
    plan | apply)
        enable_services artifactregistry cloudbuild
        IMAGE=$(ensure_image)
        ;;
    destroy)
        say "Kept, and still billed: the bucket $BUCKET with every user's memory, the secret $SERVICE-id-secret that names its"
        say "objects, the image repository $SERVICE, and the APIs that were enabled. deploy/README.md says how to go on with them."
        IMAGE=${IMAGE:-unused}
        ;;
esac
hand_over_settings
[ -d deploy/terraform/.terraform ] || "$terraform" -chdir=deploy/terraform init -input=false
exec "$terraform" -chdir=deploy/terraform "$@"
