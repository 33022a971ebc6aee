#!/usr/bin/env bash
# Makes a release of the tagged commit that is checked out. Prints each command before it runs. The runbook's
# release.md describes the files, and how to verify them. The same commit gives the same bytes, with the same
# versions of the tools: times, owners, modes and order are fixed.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
# Standard output has the release's folder alone.
exec 3>&1 >&2
NPM_OLDEST=11.6.2
USAGE='Usage: npm run release -- --key FILE --public-key FILE \
  (--base IMAGE --web-base IMAGE | --no-images) [FOLDER]'
fail() { printf '%s\n' "$*" && exit 1; }
misused() { printf '%s\n' "$USAGE" && exit 64; }

key='' public_key='' base='' web_base='' images=(auth api operator web) folder='' built_on=''
while [ $# -gt 0 ]; do
  case $1 in
    --no-images) images=() ;;
    --key | --public-key | --base | --web-base) option=${1#--} && declare "${option/-/_}=${2-}" && shift ;;
    -*) misused ;;
    *) if [ -n "$folder" ]; then misused; else folder=$1; fi ;;
  esac
  shift || misused
done
[[ "${key:+key} ${public_key:+public} ${#images[@]}${base:+ base}${web_base:+ web}" =~ \
  ^'key public '(0|'4 base web')$ ]] || misused

# What is missing is said at once, not after minutes of building.
for tool in git minisign; do
  command -v "$tool" >/dev/null || fail "A release needs $tool, which is not installed: apt install $tool"
done
npm=$(npm --version)
# Older ones list a package once for each folder that has it.
[ "$(printf '%s\n' "$NPM_OLDEST" "$npm" | sort --version-sort | head -1)" = "$NPM_OLDEST" ] ||
  fail "A release needs npm $NPM_OLDEST or newer, and this is $npm: npm install --global npm@$NPM_OLDEST"
[ -f "$key" ] || fail "There is no key $key: make a pair with \"minisign -G -s $key -p $public_key\"."
[ -f "$public_key" ] ||
  fail "There is no key $public_key: take it from the other with \"minisign -R -s $key -p $public_key\"."
# Its last line gets into the notes.
[[ $(tail -1 "$public_key") =~ ^RW[A-Za-z0-9+/]{54}$ ]] || fail "$public_key is not a public key of minisign."
version=$(node --print 'require("./package.json").version')
commit=$(git rev-parse HEAD)
changed=$(git status --porcelain)
[ -z "$changed" ] || fail 'The working tree has changes that are not committed: commit or remove them first.'
tags=$(git tag --points-at "$commit")
grep --quiet --line-regexp --fixed-strings "$version" <<<"$tags" ||
  fail "The commit has no tag $version, its version in package.json: git tag -a $version"
for file in CHANGELOG.md apps/api/discovery/docs/pages/changelog.md; do
  heading=$(grep --max-count=1 '^## ' "$file" || true)
  [[ $heading =~ ^"## $version, "[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] ||
    fail "$file begins with \"$heading\", not with \"## $version, \" and the day of the release."
done
if [ ${#images[@]} -gt 0 ]; then
  instead='or leave the images out with --no-images.'
  command -v buildah >/dev/null || fail "The images need buildah: apt install buildah, $instead"
  # They are never pulled, so that the build uses what is named here.
  for image in "$base" "$web_base"; do
    digest=$(buildah inspect --type image --format='{{.FromImageDigest}}' "$image" 2>/dev/null) ||
      fail "There is no image $image on this machine to build on: run \"buildah pull $image\", $instead"
    built_on+="# Built on $image, $digest"$'\n'
  done
fi
mkdir -p -- "${folder:=release}"
key=$(realpath -- "$key") public_key=$(realpath -- "$public_key") folder=$(realpath -- "$folder")
target=$folder/$version
[ ! -e "$target" ] || fail "$target is there already: remove it, or name another folder."
time_s=$(git log -1 --format=%ct "$commit")
time=$(date --utc --date="@$time_s" +%FT%TZ)
# The images' users read what is built here, whatever the umask of whoever runs this.
umask 022
# NODE_ENV would change what npm installs and Vite builds, and npm run --silent what npm says if it fails.
unset NODE_ENV CDPATH
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=$time_s npm_config_loglevel=error

work=$(mktemp -d)
out=$(mktemp -d "$folder/.unfinished-XXXXXX")
# The folder's name is the name in npm's bill.
mkdir "$work/integration-access-service"
builder='' tries=20
end() {
  local status=$?
  while [ -n "$builder" ] && kill -- "-$builder" && [ $((tries--)) -gt 0 ]; do sleep 0.1; done
  rm -rf -- "$work" "$out"
  [ "$status" -eq 0 ] || printf 'No release was written.\n'
}
trap '{ end; } 2>/dev/null' EXIT
trap 'exit 130' INT TERM

build() {
  # Nothing is silent for long, whatever the tools print.
  while sleep 2 >/dev/null 2>&1; do printf '  %d s\n' "$SECONDS"; done &
  set -x
  git -c tar.umask=0022 archive "$commit" | tar --extract --directory="$work/integration-access-service"
  cd "$work/integration-access-service"
  npm ci --prefer-offline
  npm run build
  infra/deploy/package.sh "$out"
  # The bill of every package, of which the build puts some into the screens.
  fixed=(-e '/^  "serialNumber": /d' -e "s/^    \"timestamp\": .*/    \"timestamp\": \"$time\",/")
  name=integration-access-service-$version
  npm sbom --sbom-format=cyclonedx | sed "${fixed[@]}" >"$out/$name-build.cdx.json"
  npm ci --prefer-offline --omit=dev
  # Neither tests nor GitHub's files are in it, so a link to one becomes its path.
  find . -path ./node_modules -prune -o -name '*.md' -exec sed --in-place --regexp-extended \
    's,\[([^]]*)\]\((\.\./)+((test|\.ci|\.github/[a-z]+)\b[^)]*)\),\1 (\3),g' {} +
  # npm's own notes differ between its versions, and only building the screens needs the types of the API.
  mode='u+rw,go+r-w,a+X'
  sorted=(--format=gnu --sort=name --mtime="@$time_s" --owner=0 --group=0 --numeric-owner --mode="$mode")
  tar --create "${sorted[@]}" --hard-dereference --transform="s,^,$name/,S" \
    --exclude=node_modules/.package-lock.json --exclude=apps/workspace/src/api/openapi.d.ts \
    CHANGELOG.md README.md .github/{CONTRIBUTING,SECURITY}.md package.json package-lock.json \
    apps infra shared node_modules |
    gzip --no-name >"$out/$name-$(node --print 'process.platform + "-" + process.arch').tar.gz"

  for image in "${images[@]}"; do
    tag=integration-$image:$version
    buildah bud --pull=never --format=oci --timestamp="$time_s" --file=infra/deploy/Containerfile --tag="$tag" \
      --build-arg="NODE=$base" --build-arg="WEB=$web_base" --target="$image" .
    buildah push --digestfile="$work/digest" "$tag" "oci:$work/$image:$tag"
    tar --create "${sorted[@]}" --directory="$work/$image" \
      --file="$out/integration-$image-$version.oci.tar" blobs index.json oci-layout
    printf "  - { name: %s, newName: registry.example.com/%s, digest: '%s' }\n" \
      "${tag%:*}" "${tag%:*}" "$(cat "$work/digest")" >>"$work/images"
  done
  [ ! -e "$work/images" ] || { printf '%simages:\n' "$built_on" && cat "$work/images"; } >"$out/images.yaml"
  # The bill of what is installed. With --omit=dev, npm leaves out what a package for development needs too.
  npm pkg delete devDependencies
  npm sbom --sbom-format=cyclonedx | sed "${fixed[@]}" >"$out/$name.cdx.json"

  # A link to a file of the release would lead nowhere where this is read.
  changes=$(awk '/^## / { section++ } section == 1' CHANGELOG.md | sed -E 's/\[([^]]*)\]\(([^):]*)\)/\1 (\2)/g')
  cd "$out"
  printf '%s\n\nThe public key of the signature:\n\n    %s\n' \
    "$changes" "$(tail -1 "$public_key")" >release-notes.md
  sha256sum -- * >"$work/SHA256SUMS"
  mv "$work/SHA256SUMS" .
}
# A process group of its own ends as a whole. A signal interrupts wait, but no other command.
set -m
build </dev/null 3>&- &
builder=$!
set +m
wait "$builder"
# The ticker is left.
kill -- "-$builder"
builder=''
rm -rf -- "$work"
cd "$out"
set -x
comment="integration-access-service $version, commit $commit"
# It asks at the terminal for the key's password.
for _ in 1 2 3; do minisign -S -s "$key" -m SHA256SUMS -t "$comment" && break; done
minisign -V -q -p "$public_key" -m SHA256SUMS ||
  fail "$key did not sign the release, or $public_key is not its public key."
chmod 755 .
mv --no-target-directory "$out" "$target"
{ set +x; } 2>/dev/null
printf '%s\n' "$target" >&3
