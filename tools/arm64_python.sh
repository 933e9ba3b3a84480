#!/bin/sh
# Unpacks Debian's or Ubuntu's Python for arm64 into a folder, to be run under qemu:  arm64_python.sh FOLDER
# Nothing is installed: apt keeps its lists and state for this in a folder of its own, so that the machine knows no other architecture.
set -eu
folder=$1
[ -e "$folder/ready" ] && exit 0
command -v apt-get >/dev/null || { echo "arm64_python: there is no apt-get here" >&2; exit 1; }
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$folder"
: >"$state/status"
apt() {
  apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$state" -o Dir::State::Lists="$state/lists" \
    -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache" -o Debug::NoLocking=1 "$@" >"$state/log" 2>&1 || { tail -3 "$state/log" >&2; exit 1; }
}
apt update
apt install --download-only --no-install-recommends python3
for package in "$state"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
touch "$folder/ready"
