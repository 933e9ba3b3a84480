#!/bin/sh
# Installs what tests of JavaScript need, by name, where LOOM_NPM says (the user's cache otherwise), and prints that folder.
# usage: npm_packages.sh [SET]    gpu (the default): Dawn; package: the compilers and checkers of js/; bundlers: those of js/test/bundlers.test.mjs; nextjs: Next.js for the same; page: browsers for tests/outside/page*.mjs; clients: those of tests/outside/clients.mjs; roslyn: the C# compiler of tests/csharp/roslyn.py
set -eu
folder=${LOOM_NPM:-${XDG_CACHE_HOME:-$HOME/.cache}/loom/npm}
case ${1:-gpu} in
  gpu) wanted="webgpu@0.6.2" ;;
  package)
    folder=$folder/package
    wanted="koffi@3.3.4 typescript@5.9.3 @types/node@20.19.43 esbuild@0.28.2 publint@0.3.25 @arethetypeswrong/cli@0.18.5"
    ;;
  bundlers)
    folder=$folder/bundlers
    wanted="vite@8.4.0 webpack@5.113.0 esbuild@0.28.2 playwright-core@1.65.1"
    ;;
  nextjs)
    folder=$folder/nextjs
    wanted="next@16.4.6 react@19.3.1 react-dom@19.3.1"
    ;;
  page)
    folder=$folder/page
    wanted="playwright-core@1.65.1 axe-core@4.14.1 puppeteer-core@25.16.0"
    ;;
  clients)
    folder=$folder/clients
    wanted="openai@6.49.0 ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7"
    ;;
  roslyn)
    folder=$folder/roslyn
    wanted="@autorest/csharp@3.0.0-beta.20220906.1"  # has Microsoft.CodeAnalysis 4.1 for .NET Core 3.1
    ;;
  *)
    echo "npm_packages.sh: there is no set $1: expected gpu, package, bundlers, nextjs, page, clients or roslyn" >&2
    exit 2
    ;;
esac
if [ "$(cat "$folder/packages" 2>/dev/null)" != "$wanted" ]; then
  mkdir -p "$folder"
  # shellcheck disable=SC2086  # words of the list
  npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent $wanted >&2
  printf '%s\n' "$wanted" >"$folder/packages"
fi
printf '%s\n' "$folder"
