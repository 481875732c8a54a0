#!/bin/sh
# Builds all that a release has into a directory: programs, archives, packages, bills of materials and their sums.
#
#   internal/scripts/release.sh DIRECTORY
#
# VERSION (default: what git describes) is the release's; TARGETS (default: four) are what it is built for; NFPM (default: it is built)
# makes the packages. Everything depends on the commit alone: its time is the time of every file.
set -eu
export LC_ALL=C TZ=UTC GOFLAGS=-trimpath CGO_ENABLED=0
cd "$(dirname "$0")/../.."

out=${1:?which directory?}
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=${VERSION:-$(git describe --tags --always --dirty)}
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# A package's version begins with a digit; a commit without a tag comes before every release.
case $version in
v[0-9]*) number=${version#v} ;;
*) number=0.0.0-$version ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { echo "release: $*"; }

step "man pages and completions"
go run ./cmd/worker/internal/manual "$work/common" "$version"
gzip -n9 "$work"/common/man/*.1
nfpm=${NFPM:-$work/nfpm}
[ -x "$nfpm" ] || { step "nfpm" && GOARCH= GOOS= go build -modfile=internal/tools/release.mod -o "$nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm; }
go build -o "$work/sbom" ./internal/sbom
go build -o "$work/licences" ./internal/licences

for target in $targets; do
	os=${target%/*} arch=${target#*/}
	name=solotick-worker_${number}_${os}_$arch
	stage=$work/$name
	step "$target"
	mkdir "$stage"
	cp -R "$work/common/." "$stage"
	cp LICENSE README.md "$stage"
	GOOS=$os GOARCH=$arch go build -C cmd/worker/full -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$stage/worker" .
	"$work/sbom" "$stage/worker" "$version" >"$stage/worker.cdx.json"
	cp "$stage/worker.cdx.json" "$out/$name.cdx.json"
	"$work/licences" "$stage/worker" >"$stage/LICENSES-OF-MODULES"
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw -cf - "$name" |
		gzip -n9 >"$out/$name.tar.gz"
	[ "$os" = linux ] || continue
	for packager in deb rpm; do
		ARCH=$arch VERSION=$number STAGE=$stage "$nfpm" package --config deploy/package/nfpm.yaml --packager "$packager" \
			--target "$out/$name.$packager" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	done
done
(cd "$out" && sha256sum solotick-worker_* >SHA256SUMS)
step "$version is in $out"
