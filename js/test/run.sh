#!/bin/sh
# Runs one file of tests: run.sh NAME for NAME.test.mjs. 77: node or the packages of tools/npm_packages.sh are missing.
set -eu
set_of=package
[ "$1" != bundlers ] || set_of=bundlers
here=$(cd "$(dirname "$0")" && pwd)
packages=${LOOM_NPM:-${XDG_CACHE_HOME:-$HOME/.cache}/loom/npm}/$set_of/node_modules
command -v node >/dev/null || { echo "SKIPPED: node is not installed, so the npm package is not tested"; exit 77; }
if [ ! -d "$packages" ]; then
  echo "SKIPPED: $packages is missing: tools/npm_packages.sh $set_of fetches it"
  exit 77
fi
NODE_PATH=$packages exec node --test --test-reporter=spec "$here/$1.test.mjs"
