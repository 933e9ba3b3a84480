#!/bin/sh
# Makes sure that what Loom needs is installed:  packages.sh run|test|whole
# Debian and Ubuntu: installs the missing packages by name. Elsewhere: says what is missing and stops.
set -eu

run="g++ cmake ninja-build ccache python3 python3-pip libfmt-dev libexpected-dev nlohmann-json3-dev libcli11-dev \
zlib1g-dev libpng-dev libjpeg-dev libedit-dev libboost-dev \
libcurl4-openssl-dev ca-certificates"
test="$run mesa-vulkan-drivers libvulkan1 python3-venv pypy3 pkg-config libgtest-dev libpcre2-dev libmpfr-dev g++-aarch64-linux-gnu qemu-user-static nodejs npm strace openssl \
clang-19 clang-format-19 clang-tidy-19 lld-22 wasi-libc libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32 libclang-rt-19-dev abigail-tools chromium firefox-esr wine64 g++-mingw-w64-x86-64-posix mono-mcs mono-runtime godot3-server"
case "${1:-run}" in run) wanted=$run ;; test | whole) wanted=$test ;; *) echo "usage: packages.sh run|test|whole" >&2; exit 2 ;; esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  missing=""
  for program in g++ cmake ninja python3; do command -v $program >/dev/null || missing="$missing $program"; done
  for header in fmt/format.h tl/expected.hpp nlohmann/json.hpp CLI/CLI.hpp; do
    found=no
    for folder in /usr/include /usr/local/include /opt/homebrew/include; do [ -e "$folder/$header" ] && found=yes; done
    [ $found = yes ] || missing="$missing $header"
  done
  [ -z "$missing" ] && exit 0
  echo "loom: missing:$missing" >&2
  echo "loom: packages are installed by name on Debian and Ubuntu only; there they are: $wanted" >&2
  exit 1
fi

# nodejs and npm may have come without a package.
missing=""
for package in $wanted; do
  case $package in nodejs) command -v node >/dev/null && continue ;; npm) command -v npm >/dev/null && continue ;; esac
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
echo "loom: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq >&2
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >&2 || {
  echo "loom: some packages could not be installed; needed are:$missing" >&2
  exit 1
}
