#!/usr/bin/env bash
# Writes shared/access-tokens to a folder (default: release) as a package for services in other repositories.
# Prints its path.
set -euo pipefail
unset CDPATH
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

if [ $# -gt 1 ] || [[ ${1-} == -* ]]; then
  echo 'Usage: npm run package -- [FOLDER]' >&2
  exit 64
fi
mkdir -p -- "${1:-release}"
folder=$(cd -- "${1:-release}" && pwd)
stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT

infra/node node_modules/.bin/tsc --project shared/access-tokens --outDir "$stage"
cp shared/access-tokens/README.md "$stage"
cp infra/deploy/access-tokens.json "$stage/package.json"
version=$(node --print 'require("./package.json").version')
jose=$(node --print 'require("./package.json").dependencies.jose')
cd "$stage"
npm pkg set "version=$version" "dependencies.jose=^$jose"
# A command inside another's arguments may fail unnoticed.
file=$(npm pack --loglevel=error --pack-destination "$folder")
printf '%s/%s\n' "$folder" "$file"
