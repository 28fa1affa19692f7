#!/usr/bin/env bash
# Build deploy/Dockerfile for real without a Docker daemon or a container registry, measure it, and run it read-only.
#
#   tests/bench/image/build.sh [WORK_DIRECTORY]        by hand, as root, on Debian: apt-get install buildah debootstrap
#
# The base that a registry would serve as debian:bookworm-slim is made by debootstrap, with what the slim images leave out
# taken away. Wheels are downloaded with this machine's own pip first, so the build asks no index but the Debian mirror.
set -euo pipefail
cd "$(dirname "$0")/../../.."
release=bookworm
mirror=${MIRROR:-http://deb.debian.org/debian}
work=${1:-/var/tmp/diffmem-image}
python=${PYTHON:-.venv/bin/python}
base=localhost/diffmem-base:$release
image=localhost/diffmem:measured

main() {
    mkdir -p "$work"
    buildah inspect "$base" >/dev/null 2>&1 || make_base
    download_wheels
    build
    measure
    export KEY=a-key-for-the-smoke-test
    tests/bench/image/serve.sh "$image" 8390 deploy/smoke.sh http://127.0.0.1:8390
}

make_base() {
    local root=$work/base container
    [ -d "$root" ] || debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror"
    printf 'deb %s %s main\n' "$mirror" "$release" "$mirror" "$release-updates" >"$root/etc/apt/sources.list"
    printf 'deb %s %s-security main\n' "${mirror%/debian}/debian-security" "$release" >>"$root/etc/apt/sources.list"
    slim "$root"
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$root" / >/dev/null
    buildah commit --quiet --rm "$container" "$base" >/dev/null
}

# The slim images of Debian have no documentation, manual pages and translations, and dpkg keeps it so.
slim() {
    local root=$1
    printf 'path-exclude /usr/share/%s/*\n' doc man info locale lintian groff linda >"$root/etc/dpkg/dpkg.cfg.d/docker"
    rm -rf "$root"/usr/share/{doc,man,info,locale,lintian,groff,linda}/* "$root"/var/{lib/apt/lists,cache/apt,log}/*
}

download_wheels() {
    rm -rf "$work/wheels" && mkdir -p "$work/wheels"
    "$python" -m pip download --quiet --only-binary=:all: --dest "$work/wheels" -r requirements.txt
    printf '[global]\nno-index = true\nfind-links = /wheels\n' >"$work/pip.conf"
}

build() {
    local began=$SECONDS
    buildah build --isolation chroot --layers --quiet --build-arg "BASE=$base" --file deploy/Dockerfile --tag "$image" \
        --volume "$work/wheels:/wheels:ro" --volume "$work/pip.conf:/etc/pip.conf:ro" . >/dev/null
    echo "built in $((SECONDS - began)) s"
}

measure() {
    rm -rf "$work/oci"
    buildah push --quiet "$image" "oci:$work/oci"
    "$python" tests/bench/image/measure.py "$work/oci"
}

main
