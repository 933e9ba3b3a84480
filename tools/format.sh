#!/bin/sh
# Lays out the C++ sources by .clang-format:  tools/format.sh [--check]
# --check changes nothing, names what would change and comments above 120 columns, and fails if there are any.
set -eu
cd "$(dirname "$0")/.."
program=$(command -v clang-format-19 || command -v clang-format) || { echo "format.sh: clang-format is missing" >&2; exit 2; }
sources() { find src tests fuzz bench examples \( -name '*.h' -o -name '*.cpp' \) ! -path '*/unicode/*' | sort; }

if [ "${1:-}" = --check ]; then
  bad=0
  sources | xargs -P "$(nproc)" -n 32 "$program" --dry-run -Werror 2>&1 | grep -E "error:" && bad=1
  # Code is laid out; comments are wrapped by hand, so that tables and formulas in them stay.
  sources | xargs awk 'length > 120 && /^ *\/\// { print FILENAME ":" FNR ": " length " columns"; bad = 1 } END { exit bad }' || bad=1
  [ $bad = 0 ] || { echo "tools/format.sh lays them out"; exit 1; }
  exit 0
fi
sources | xargs -P "$(nproc)" -n 32 "$program" -i
