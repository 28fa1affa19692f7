#!/usr/bin/env bash
# Run an image as Cloud Run would, as far as one machine can: its own root, read-only, /tmp in memory, its user, its command.
#
#   tests/bench/image/serve.sh IMAGE PORT COMMAND...       by hand, as root; COMMAND runs outside while the image serves on PORT
#
# The root is entered by pivot_root, not chroot: inside a chroot no process may make a user namespace (user_namespaces(7)).
set -euo pipefail
image=$1 port=$2
shift 2

container=$(buildah from --pull-never "$image")
root=$(buildah mount "$container")
mapfile -t environment < <(buildah inspect --type image --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$image" | sed '/^$/d')
mapfile -t command < <(buildah inspect --type image --format '{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' "$image" | sed '/^$/d')
user=$(buildah inspect --type image --format '{{.OCIv1.Config.User}}' "$image")
directory=$(buildah inspect --type image --format '{{.OCIv1.Config.WorkingDir}}' "$image")

# Runs in namespaces of its own; everything in them ends with it.
# shellcheck disable=SC2016
inside='
    root=$1 user=$2 directory=$3
    shift 3
    mount --bind "$root" "$root"
    mount -t tmpfs -o size=512m,mode=1777 tmpfs "$root/tmp"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -o remount,bind,ro "$root"
    cd "$root"
    pivot_root . .
    umount -l .
    cd "$directory"
    exec setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --bounding-set=-all env -i "$@"
'
unshare --mount --pid --fork --kill-child bash -euc "$inside" bash "$root" "$user" "$directory" \
    "${environment[@]}" "PORT=$port" DIFFMEM_STORE=file:/tmp/store DIFFMEM_AUTH=key "DIFFMEM_API_KEYS=smoke:$KEY:smoke-*" \
    "${command[@]}" &
server=$!

# unshare itself ignores SIGTERM, so the first process inside gets it, as Cloud Run sends it; 10 s later all of it is killed.
clean_up() {
    local began=$SECONDS child
    read -r child <"/proc/$server/task/$server/children" || true
    [ -z "${child:-}" ] || kill -TERM "$child"
    while kill -0 "$server" 2>/dev/null && [ $((SECONDS - began)) -lt 10 ]; do sleep 0.1; done
    kill -KILL "$server" 2>/dev/null && echo "it did not stop within 10 s of SIGTERM" || echo "stopped by SIGTERM"
    wait "$server" || true
    buildah umount "$container" >/dev/null
    buildah rm "$container" >/dev/null
}
trap clean_up EXIT

for _ in $(seq 100); do
    ! curl --silent --output /dev/null "http://127.0.0.1:$port/health" || break
    sleep 0.1
done
"$@"
