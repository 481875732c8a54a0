#!/bin/sh
# Makes sure that there is what the tests need besides Go: redis-server, and a C compiler for the race detector.
set -eu

cc=$(go env CC)
if ! command -v "${cc%% *}" >/dev/null; then
	echo "deps: no C compiler ($cc), which go test -race needs: apt-get install gcc libc6-dev, or xcode-select --install" >&2
	exit 1
fi

if command -v redis-server >/dev/null; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "deps: no redis-server and no apt-get: install Redis 7.0 or later (dnf install redis, brew install redis, ...)" >&2
	exit 1
fi
root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: no redis-server, and neither root nor sudo to install it: apt-get install redis-server" >&2
		exit 1
	fi
	root=sudo
fi
install() {
	echo "deps: apt-get install redis-server"
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends redis-server </dev/null
}
# The lists of packages may be missing or old.
install || { $root apt-get update -q </dev/null && install; }
