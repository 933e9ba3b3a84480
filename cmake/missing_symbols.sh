#!/bin/sh
# Writes the file that gives an address to every name of ours which the objects refer to and none of them defines (cmake/first_start.cpp):
#   missing_symbols.sh NM OUT.cpp OBJECT..
set -eu
nm=$1 out=$2
shift 2
export LC_ALL=C
"$nm" --undefined-only --format=just-symbols "$@" | grep 4loom | sort -u >"$out.undefined"
"$nm" --defined-only --extern-only --format=just-symbols "$@" | grep 4loom | sort -u >"$out.defined"
{
  echo '#include "../cmake/first_start.cpp"'
  echo 'asm(R"('
  # Kernels, virtual functions and kinds of layers are reached through tables, which are read before anything is called.
  comm -23 "$out.undefined" "$out.defined" | sed -E '
    s/(.*_kernelsE|_ZTV.*)$/.globl \1\n.set \1, loom_rest_table/; t
    s/(.*(5kKindE|6kKindsE))$/.globl \1\n.set \1, loom_rest_kinds/; t
    s/(.*)/.globl \1\n.set \1, loom_rest_is_needed/'
  echo ')");'
} >"$out"
rm -f "$out.undefined" "$out.defined"
