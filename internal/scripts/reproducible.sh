#!/bin/sh
# Builds the first target of a release again, from a fresh clone in another directory and with an empty build cache, and compares every
# file with the one in a directory that internal/scripts/release.sh has filled.
#
#   internal/scripts/reproducible.sh DIRECTORY
#
# NFPM names the program that makes the packages: it need not be built twice, since nothing of it is in them.
set -eu
cd "$(dirname "$0")/../.."
first=$(cd "${1:?which directory?}" && pwd)
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "reproducible: commit first: the clone has what is committed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q --no-hardlinks . "$work/elsewhere"
version=${VERSION:-$(git describe --tags --always --dirty)}
(cd "$work/elsewhere" && GOCACHE="$work/cache" VERSION="$version" TARGETS=linux/amd64 internal/scripts/release.sh "$work/dist")
files=0
for file in "$work"/dist/solotick-worker_*; do
	cmp "$file" "$first/$(basename "$file")"
	files=$((files + 1))
done
[ "$files" -ge 4 ]
echo "reproducible: $files files are equal"
