# shellcheck shell=bash
# Every setting of a deployment with its default: the scripts read them here, and terraform.sh hands each to Terraform under
# its name in small letters. The environment wins over deploy/local.env (yours, not committed: one NAME=value a line, as it is,
# without quotes), which wins over this file:
#
#   PROJECT=my-project AUTH=key deploy/cloud-run.sh
#
# An empty value leaves the default to DiffMem itself, whose variables the README's table explains.
if [ -e deploy/local.env ]; then
    while IFS='=' read -r name value; do
        if [[ $name =~ ^[A-Z_]+$ && -z ${!name:-} ]]; then printf -v "$name" '%s' "$value"; fi
    done <deploy/local.env
fi

# Where
: "${PROJECT:?is not set: the Google Cloud project, in the environment or in deploy/local.env}"
: "${REGION:=europe-west1}"           # of the service, the bucket, the queue and the secrets alike
: "${SERVICE:=diffmem}"               # names the service and everything around it
: "${BUCKET:=$PROJECT-$SERVICE}"      # the memory; bucket names are one world-wide space
: "${IMAGE:=}"                        # a ready image by digest, instead of building one

# Who may call
: "${AUTH:=iam}"                      # iam: Cloud Run admits INVOKERS only. key: anyone reaches it, keys are checked inside
: "${INVOKERS:=}"                     # with iam: comma-separated members, such as user:me@example.com

# What DiffMem is told
: "${OPENAI_BASE_URL:=}"
: "${MODEL:=}"
: "${WRITER_MODEL:=}"
: "${SANDBOX:=}"                      # see "The tool's sandbox" in deploy/README.md before changing it
: "${SESSION_GAP_S:=}"
: "${RATE_LIMIT:=}"

# How large an instance is
: "${CPU:=1}"
: "${MEMORY:=1Gi}"                    # holds the cache too: /tmp is memory
: "${CACHE_MAX_BYTES:=268435456}"
: "${THREADS:=4}"                     # gunicorn's threads and Cloud Run's concurrency: one number
: "${TIMEOUT:=300}"                   # seconds a request may take; DiffMem plans with it
: "${MIN_INSTANCES:=0}"
: "${MAX_INSTANCES:=20}"
: "${PYTHON_VERSION:=3.11}"           # of the functions' base image; deploy/Dockerfile has Debian's

# Terraform alone: secrets are written when their number here rises; 0 leaves a secret out
: "${OPENAI_API_KEY_VERSION:=0}"
: "${API_KEYS_VERSION:=0}"
: "${HOOKS_VERSION:=0}"

# Terraform alone: the queue, what runs by the clock, and a topic whose messages become sessions
: "${TASKS_KEY:=}"                    # with AUTH=key: the entry of DIFFMEM_API_KEYS that queued calls carry; empty: no queue
: "${TIME_ZONE:=Etc/UTC}"
: "${MAINTAIN_SCHEDULE:=17 3 * * *}"
: "${DISTILL_SCHEDULE:=*/30 * * * *}"
: "${DISTILL_USERS:=}"                # comma-separated; what is pending is distilled by the clock; needs AUTH=iam
: "${PUBSUB_TOPIC:=}"                 # created where named
: "${PUBSUB_HOOK:=}"                  # the hook of DIFFMEM_HOOKS that its messages are pushed to

# Secrets are never settings. Their values are read from the environment of the one run that stores them, and go to Secret
# Manager: OPENAI_API_KEY, DIFFMEM_API_KEYS, DIFFMEM_HOOKS. DIFFMEM_ID_SECRET is made there once and never changes.
