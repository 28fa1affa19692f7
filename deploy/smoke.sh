#!/usr/bin/env bash
# One real round trip against a running DiffMem: create a throw-away user, remember, ask, run the tool, erase, see it gone.
#
#   deploy/smoke.sh URL                     the exit code says whether every step held
#   KEY=... deploy/smoke.sh URL             DIFFMEM_AUTH=key: a key that may write users named smoke-*
#   KEY=$(gcloud auth print-identity-token) deploy/smoke.sh URL      DIFFMEM_AUTH=iam
#
# It asks no model (the session is archived, the planner is the offline one), so it costs nothing and needs no provider.
set -euo pipefail
url=${1:?usage: deploy/smoke.sh URL}
url=${url%/}
user=smoke-$(date +%s)-$RANDOM
word=quokka$RANDOM
work=$(mktemp -d)
created=

main() {
    trap clean_up EXIT
    printf '%s\n' silent show-error 'max-time = 60' ${KEY:+"header = \"Authorization: Bearer $KEY\""} >"$work/curl"
    call "health" 200 GET /health
    show sandbox
    call "create a user" 201 PUT "/v1/users/$user" '{"timezone": "Europe/Berlin"}'
    created=yes
    call "remember" 201 POST "/v1/users/$user/sessions" "$(session)"
    call "remember again: a duplicate" 200 POST "/v1/users/$user/sessions" "$(session)"
    expect '"status": *"duplicate"'
    call "ask" 200 POST "/v1/users/$user/context" '{"query": "Where does Maya work?", "planner": "offline", "max_tokens": 500}'
    expect "$word"
    call "run the tool" 200 POST "/v1/users/$user/run" '{"command": "git log --oneline; grep -rn Maya sessions"}'
    expect "$word" "the tool refused: see GET /health, and DIFFMEM_SANDBOX in deploy/README.md"
    call "erase" 200 DELETE "/v1/users/$user"
    expect '"receipt_sha256"'
    created=
    call "gone" 404 GET "/v1/users/$user"
    call "gone for the tool too" 404 POST "/v1/users/$user/run" '{"command": "ls"}'
    echo "ok: every step held at $url"
}

session() {
    printf '{"session_id": "smoke", "mode": "archive", "messages": [{"role": "user", "content": "%s"}]}' \
        "Maya starts at the $word clinic on Monday."
}

# call WHAT STATUS METHOD PATH [BODY]: send it, print one line, stop where the status is another one.
call() {
    local what=$1 wanted=$2 method=$3 path=$4 answer status
    local arguments=(--config "$work/curl" --request "$method" --output "$work/body")
    [ $# -lt 5 ] || arguments+=(--header 'Content-Type: application/json' --data "$5")
    : >"$work/body"
    answer=$(curl "${arguments[@]}" --write-out '%{http_code} %{time_total}' "$url$path") || fail "$what: no answer from $url"
    status=${answer% *}
    printf '%-30s %s  %s s\n' "$what" "$status" "${answer#* }"
    [ "$status" = "$wanted" ] || fail "$what: $method ${path} answered $status, not $wanted"
}

# expect PATTERN [HINT]: the last answer holds it.
expect() {
    grep -q -- "$1" "$work/body" || fail "${2:-the last answer has no $1}"
}

show() {
    grep -o "\"$1\": *{[^}]*}" "$work/body" || true
}

fail() {
    printf 'FAILED: %s\n' "$1" >&2
    head -c 2000 "$work/body" >&2
    exit 1
}

clean_up() {
    [ -z "$created" ] || curl --config "$work/curl" --request DELETE "$url/v1/users/$user" >/dev/null || true
    rm -rf "$work"
}

main
