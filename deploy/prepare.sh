# shellcheck shell=bash
# Steps that deployments share. Each looks first and changes only what is missing, and then says so.
shopt -s inherit_errexit # a step that fails inside $(...) ends the deployment

say() { printf '%s\n' "$*" >&2; }

# look ARGUMENT...: what gcloud prints, nothing where there is no such thing; any other failure ends the deployment, so that
# a bad connection or a missing right is never taken for a missing secret.
look() {
    local errors code=0
    errors=$(mktemp)
    gcloud "$@" 2>"$errors" || code=$?
    if [ "$code" != 0 ] && grep -qiE 'not.?found|cannot find|does not exist' "$errors"; then
        code=0
    elif [ "$code" != 0 ]; then
        cat "$errors" >&2
    fi
    rm -f "$errors"
    return "$code"
}

enable_services() {
    local enabled name missing=()
    enabled=$(gcloud services list --project="$PROJECT" --enabled --format='value(config.name)')
    for name in "$@"; do
        grep -qx "$name.googleapis.com" <<<"$enabled" || missing+=("$name.googleapis.com")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "enabling ${missing[*]}"
    gcloud services enable --project="$PROJECT" "${missing[@]}"
}

# The memory: regional, no public access, and nothing kept after a deletion, so that an erasure is one.
ensure_bucket() {
    local found
    found=$(look storage buckets describe "gs://$BUCKET" --format='value(name)')
    [ -z "$found" ] || return 0
    say "creating the bucket gs://$BUCKET"
    gcloud storage buckets create "gs://$BUCKET" --project="$PROJECT" --location="$REGION" \
        --uniform-bucket-level-access --public-access-prevention --soft-delete-duration=0
}

account() { printf '%s@%s.iam.gserviceaccount.com' "$SERVICE" "$PROJECT"; }

ensure_account() {
    local found
    found=$(look iam service-accounts describe "$(account)" --project="$PROJECT" --format='value(email)')
    [ -z "$found" ] || return 0
    say "creating the service account $(account)"
    gcloud iam service-accounts create "$SERVICE" --project="$PROJECT" --display-name="DiffMem, the function itself"
}

# ensure_bindings MEMBER RESOURCE ROLES [FLAG...]: RESOURCE is a command group and a name, such as "secrets my-secret".
ensure_bindings() {
    local member=$1 resource role bound
    read -ra resource <<<"$2"
    local group=("${resource[@]:0:${#resource[@]}-1}") name=${resource[-1]}
    bound=$(gcloud "${group[@]}" get-iam-policy "$name" "${@:4}" \
        --flatten='bindings[].members' --format='csv[no-heading](bindings.role,bindings.members)')
    for role in $3; do
        ! grep -qxF "$role,$member" <<<"$bound" || continue
        say "granting $role on $name to $member"
        gcloud "${group[@]}" add-iam-policy-binding "$name" "${@:4}" --member="$member" --role="$role" >/dev/null
    done
}

# Objects, and the bucket's own settings, which the receipt of an erasure reports; nothing else in the project.
ensure_access() {
    ensure_bindings "serviceAccount:$(account)" "storage buckets gs://$BUCKET" \
        "roles/storage.objectUser roles/storage.legacyBucketReader"
}

# The number of each secret's newest version; no entry where there is none.
declare -A SECRET_VERSION

ensure_secrets() {
    ensure_secret openai-api-key "${OPENAI_API_KEY:-}"
    ensure_secret api-keys "${DIFFMEM_API_KEYS:-}"
    ensure_secret hooks "${DIFFMEM_HOOKS:-}"
    # Written once: with another value every user's memory would be looked for under another name.
    ensure_secret id-secret ""
    [ -n "${SECRET_VERSION[id-secret]:-}" ] || ensure_secret id-secret "$(random_secret)"
}

# ensure_secret NAME VALUE: the newest version holds VALUE; an empty VALUE leaves what is there.
ensure_secret() {
    local name=$SERVICE-$1 value=$2 version
    version=$(secret_version "$name")
    if [ -n "$value" ] && { [ -z "$version" ] || [ "$(read_secret "$name")" != "$value" ]; }; then
        write_secret "$name" "$value"
        version=$(secret_version "$name")
    fi
    [ -n "$version" ] || return 0
    SECRET_VERSION[$1]=$version
    ensure_bindings "serviceAccount:$(account)" "secrets $name" roles/secretmanager.secretAccessor --project="$PROJECT"
}

write_secret() {
    local found
    found=$(look secrets describe "$1" --project="$PROJECT" --format='value(name)')
    if [ -z "$found" ]; then
        say "creating the secret $1"
        gcloud secrets create "$1" --project="$PROJECT" --replication-policy=user-managed --locations="$REGION"
    fi
    say "writing a new version of the secret $1"
    printf '%s' "$2" | gcloud secrets versions add "$1" --project="$PROJECT" --data-file=- >/dev/null
}

secret_version() {
    look secrets versions describe latest --secret="$1" --project="$PROJECT" --format='value(name.basename())'
}

read_secret() { gcloud secrets versions access latest --secret="$1" --project="$PROJECT"; }

random_secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

# One word for what would be uploaded: the same source, the same word.
source_digest() {
    find main.py requirements.txt diffmem deploy/Dockerfile -type f -not -name '*.pyc' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16
}

# Print the image, by digest; build it with Cloud Build where this source has none yet.
ensure_image() {
    local registry=$REGION-docker.pkg.dev/$PROJECT/$SERVICE image found
    if [ -n "$IMAGE" ]; then
        printf '%s\n' "$IMAGE"
        return
    fi
    found=$(look artifacts repositories describe "$SERVICE" --project="$PROJECT" --location="$REGION" --format='value(name)')
    if [ -z "$found" ]; then
        say "creating the image repository $registry"
        gcloud artifacts repositories create "$SERVICE" --project="$PROJECT" --location="$REGION" \
            --repository-format=docker >&2
    fi
    image=$registry/diffmem:$(source_digest)
    found=$(image_digest "$image")
    if [ -z "$found" ]; then
        say "building $image"
        gcloud builds submit . --project="$PROJECT" --config=deploy/cloudbuild.yaml --substitutions="_IMAGE=$image" >&2
        found=$(image_digest "$image")
    fi
    printf '%s\n' "${found:?Cloud Build ended well, but $image is not in the repository}"
}

image_digest() { look artifacts docker images describe "$1" --format='value(image_summary.fully_qualified_digest)'; }
