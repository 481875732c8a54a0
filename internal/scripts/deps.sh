#!/bin/sh
# Makes sure that there is what the tests need besides Go: a C compiler for the race detector, redis-server, Chromium,
# PostgreSQL, PgBouncer, MariaDB, ZooKeeper and its Java, etcd and nats-server, which are built, and on Linux systemd-analyze.
set -eu

cc=$(go env CC)
if ! command -v "${cc%% *}" >/dev/null; then
	echo "deps: no C compiler ($cc), which go test -race needs: apt-get install gcc libc6-dev, or xcode-select --install" >&2
	exit 1
fi

"$(dirname "$0")/servers.sh" etcd nats-server

# there says whether there is a program, on the PATH or where Debian puts what is not.
there() {
	command -v "$1" >/dev/null && return
	for found in /usr/lib/postgresql/*/bin/"$1" /usr/sbin/"$1" /opt/homebrew/bin/"$1"; do
		[ ! -x "$found" ] || return 0
	done
	return 1
}
missing= # what the tests cannot do without
there redis-server || missing="$missing redis-server"
[ "$(uname)" != Linux ] || there systemd-analyze || missing="$missing systemd"
there chromium || there chromium-browser || there google-chrome || missing="$missing chromium"
{ there postgres && there initdb; } || missing="$missing postgresql"
there pgbouncer || missing="$missing pgbouncer"
{ there java && { [ -f /usr/share/java/zookeeper.jar ] || [ -d /opt/homebrew/opt/zookeeper ]; }; } ||
	missing="$missing zookeeper default-jre-headless"
there mariadbd || missing="$missing mariadb-server-core"
tool= # what the tests of deploy/ cannot do without
there promtool || tool=" promtool"
if [ -z "$missing$tool" ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "deps: missing:$missing$tool, and no apt-get: install Redis 7.0, Chromium, PostgreSQL 13, PgBouncer, MariaDB 10.6, ZooKeeper 3.6, Prometheus," \
		"or later (brew install redis chromium postgresql pgbouncer mariadb zookeeper prometheus, dnf install redis ...)" >&2
	exit 1
fi
root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: missing, and neither root nor sudo to install it: apt-get install$missing$tool" >&2
		exit 1
	fi
	root=sudo
fi
install() {
	echo "deps: apt-get install $*"
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" </dev/null
}
# The lists of packages may be missing or old.
# shellcheck disable=SC2086 # one word for each package
if [ -n "$missing" ]; then
	install $missing || { $root apt-get update -q </dev/null && install $missing; }
fi
# promtool is taken out of its package, which would start a server and needs many others.
promtool() (
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	cd "$dir"
	echo "deps: promtool from apt-get download prometheus"
	apt-get download -q prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool &&
		$root cp usr/bin/promtool /usr/local/bin/promtool
)
if [ -n "$tool" ]; then
	promtool || { $root apt-get update -q </dev/null && promtool; }
fi
