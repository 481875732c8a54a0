#!/bin/sh
# Builds the servers that test/servers pins, as bin/etcd and bin/nats-server: those named, or both. Tests can set their wall clocks, see
# internal/skewtest. Nothing is done where they are newer than their pins.
set -eu

cd "$(dirname "$0")/../.."
mkdir -p bin
[ $# -gt 0 ] || set -- etcd nats-server
for server in "$@"; do
	case $server in
	etcd) package=go.etcd.io/etcd/server/v3 ;;
	nats-server) package=github.com/nats-io/nats-server/v2 ;;
	*)
		echo "servers: $server: must be etcd or nats-server" >&2
		exit 2
		;;
	esac
	if [ -x "bin/$server" ] && [ -z "$(find test/servers/go.mod internal/skewtest -type f -newer "bin/$server")" ]; then
		continue
	fi
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	overlay=$(GOFLAGS='' go run ./internal/skewtest/overlay "$dir")
	echo "servers: go build $package"
	GOFLAGS='' go build -C test/servers -overlay "$overlay" -ldflags='-s -w' -o "../../bin/$server.$$" "$package"
	mv "bin/$server.$$" "bin/$server" # which may be running, or be built by somebody else, too
	rm -rf "$dir"
done
