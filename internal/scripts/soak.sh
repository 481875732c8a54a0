#!/bin/sh
# The long form of what make test searches briefly: random histories with fresh seeds twice ROUNDS times (default: 20),
# real fleets with faults ROUNDS times, properties with CHECKS cases each (default: 5000), and every time zone. It takes
# hours. A failure prints the seed that shows it again.
set -eu

rounds=${ROUNDS:-20}
checks=${CHECKS:-5000}

step() {
	echo "soak: $*"
	"$@"
}

step go test -race -count="$((2 * rounds))" -timeout=0 \
	-run='^(TestHistories|TestNoHistoryOf)' ./lease/... ./lock ./test/contention ./internal/nemesistest
step go test -count="$rounds" -timeout=0 ./scheduler # without the race detector its hours and days are whole
step go test -race -count="$rounds" -timeout=0 ./test/fleet
step go test -race -count="$rounds" -timeout=0 ./test/stores -all
properties=$(grep -rl --include='*_test.go' 'rapid\.Check' . | xargs -n1 dirname | sort -u)
# shellcheck disable=SC2086 # one word for each package
for package in $properties; do
	names=$(grep -hoE '^func Test[A-Za-z0-9_]+' "$package"/*_test.go | sed 's/^func //' | while read -r name; do
		# Only the functions that check a property, so that the rest of the package is not repeated.
		awk -v f="func $name(" 'index($0, f) == 1 { on = 1 } on && /rapid\.Check/ { found = 1 } on && /^}/ { on = 0 } END { exit !found }' \
			"$package"/*_test.go && echo "$name"
	done | paste -sd '|' -)
	[ -z "$names" ] || step go test -timeout=0 -run="^($names)\$" "$package" -rapid.checks="$checks"
done
SOLOTICK_EXHAUSTIVE=1 step go test -timeout=0 -run=OfEveryZone ./jobs/schedule
