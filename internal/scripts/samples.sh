#!/bin/sh
# samples.sh prints what docs/commands.md shows: the commands on a fleet of two replicas that are killed, and of a third
# one later. It takes two minutes. It starts a redis-server of its own.
set -eu
dir=$(mktemp -d)
trap 'kill -9 $pids 2>/dev/null || true; rm -rf "$dir"' EXIT
pids=
port=${PORT:-26399}
go build -ldflags "-X main.version=${VERSION:-v0.2.0}" -o "$dir/worker" ./cmd/worker
cd "$dir"
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly yes --maxmemory 64mb --maxmemory-policy allkeys-lru >redis.log &
pids="$pids $!"
cat >solotick.yaml <<YAML
namespace: billing
redis: {url: "redis://localhost:$port/0"}
lease: {ttl: 3s}
jobs:
- {name: nightly-report, schedule: "0 2 * * *", timezone: Europe/Berlin, exec: {command: [./report.sh]}, rate: 1/10m, burst: 2}
- {name: sync-orders, schedule: "@every 10s", exec: {command: [./sync-orders.sh]}}
- {name: import-prices, schedule: "@every 10s", exec: {command: [./import-prices.sh]}}
YAML
printf '#!/bin/sh\nsleep 1\n' >report.sh
printf '#!/bin/sh\ncase $SOLOTICK_TICK in *30.000Z) echo no such order: 4711; exit 3;; esac\n' >sync-orders.sh
printf '#!/bin/sh\nsleep 12\n' >import-prices.sh
chmod +x ./*.sh

start() {
  ./worker run --replica "$1" --http 127.0.0.1:0 >"$1.log" 2>&1 &
  pids="$pids $!"
  eval "pid_$(echo "$1" | tr - _)=$!"
}
show() {
  echo "\$ worker $*"
  ./worker "$@" 2>&1 || true
  echo
}
ago() { # the last tick of every 10 s so many seconds ago
  date -u -d "@$(( ($(date +%s) - $1) / 10 * 10 ))" +%H:%M:%S
}
at() { # sleeps until the second of a minute is that, of every ten
  while [ "$(( $(date +%-S) % 10 ))" -ne "$1" ]; do sleep 0.2; done
}
start web-1
start web-2
at 9
sleep 31
at 7
show trigger nightly-report --wait
show trigger nightly-report --key deploy-1
show trigger nightly-report --key deploy-1
show trigger nightly-report
sleep 2
show status
show describe nightly-report -n 2
show history sync-orders -n 5
show why sync-orders "$(ago 0)"
show why import-prices "$(ago 10)"
show doctor
at 2
kill -9 "$pid_web_1" "$pid_web_2"
sleep 24
at 4
start web-3
sleep 5
show history import-prices -n 5
show why sync-orders "$(ago 20)"
show why nightly-report 03:00
show cancel import-prices --wait
show pause import-prices --reason "the database moves"
at 1
sleep 1
show why import-prices
show resume import-prices
at 3
show history sync-orders -n 1 --output json
kill -STOP "$pid_web_3"
at 6
sleep 10
show why sync-orders
