# shellcheck shell=bash
# Deploy the service $SERVICE: the settings become flags, and what is deployed already is left alone.

# deploy_service CODE FLAG...: CODE names the source or image; the flags say where gcloud finds it.
deploy_service() {
    local code=$1 environment secrets flags deployment deployed
    check_auth
    environment=$(environment_flags | paste -sd '|')
    secrets=$(secret_flags | paste -sd ,)
    flags=("${@:2}"
        --project="$PROJECT" --region="$REGION" --service-account="$(account)"
        --execution-environment=gen2 --cpu="$CPU" --memory="$MEMORY" --cpu-boost --cpu-throttling
        --concurrency="$THREADS" --timeout="$TIMEOUT" --min-instances="$MIN_INSTANCES" --max-instances="$MAX_INSTANCES"
        --ingress=all --set-env-vars="^|^$environment" --set-secrets="$secrets")
    case $AUTH in
        iam) flags+=(--no-allow-unauthenticated --invoker-iam-check) ;;
        key) flags+=(--no-invoker-iam-check) ;;
    esac
    deployment=$(printf '%s\n' "$code" "${flags[@]}" "${SECRET_VERSION[*]}" | sha256sum | cut -c1-16)
    deployed=$(describe metadata.labels.deployment)
    if [ "$deployed" = "$deployment" ] && [ -z "${FORCE:-}" ]; then
        say "unchanged: $SERVICE runs what these settings and this source say"
    else
        gcloud run deploy "$SERVICE" --quiet "${flags[@]}" --update-labels="deployment=$deployment"
    fi
    admit_invokers
    describe status.url
}

describe() {
    look run services describe "$SERVICE" --project="$PROJECT" --region="$REGION" --format="value($1)"
}

# What DiffMem is told; empty settings are left out.
environment_flags() {
    grep -v '^[A-Z_]*=$' <<VARIABLES
DIFFMEM_STORE=gs://$BUCKET
DIFFMEM_AUTH=$AUTH
DIFFMEM_CACHE_MAX_BYTES=$CACHE_MAX_BYTES
DIFFMEM_MODEL=$MODEL
DIFFMEM_WRITER_MODEL=$WRITER_MODEL
DIFFMEM_SANDBOX=$SANDBOX
DIFFMEM_SESSION_GAP_S=$SESSION_GAP_S
DIFFMEM_RATE_LIMIT=$RATE_LIMIT
OPENAI_BASE_URL=$OPENAI_BASE_URL
GOOGLE_CLOUD_PROJECT=$PROJECT
CLOUD_RUN_TIMEOUT_SECONDS=$TIMEOUT
THREADS=$THREADS
VARIABLES
}

# Keys may rotate, so an instance reads the newest when it starts; the secret that names objects is the first one for ever.
secret_flags() {
    local variable name
    while read -r variable name; do
        [ -z "${SECRET_VERSION[$name]:-}" ] || printf '%s=%s-%s:latest\n' "$variable" "$SERVICE" "$name"
    done <<TABLE
OPENAI_API_KEY openai-api-key
DIFFMEM_API_KEYS api-keys
DIFFMEM_HOOKS hooks
TABLE
    printf 'DIFFMEM_ID_SECRET=%s-id-secret:1\n' "$SERVICE"
}

check_auth() {
    case $AUTH in
        iam) ;;
        key)
            [ -n "${SECRET_VERSION[api-keys]:-}" ] ||
                stop "AUTH=key needs keys: run once with DIFFMEM_API_KEYS=name:key:pattern"
            ;;
        *) stop "AUTH must be iam or key, not '$AUTH'" ;;
    esac
}

admit_invokers() {
    local member
    [ "$AUTH" = iam ] || return 0
    for member in ${INVOKERS//,/ }; do
        ensure_bindings "$member" "run services $SERVICE" roles/run.invoker --project="$PROJECT" --region="$REGION"
    done
}

stop() {
    say "$1"
    exit 1
}
