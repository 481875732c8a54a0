#!/bin/sh
# Runs every fuzz target of every module for FUZZTIME each, 30s unless told otherwise.
set -eu

grep -rlE --include='*_test.go' '^func Fuzz[A-Z]' . | sort | while read -r file; do
	sed -nE 's/^func (Fuzz[A-Z][A-Za-z0-9_]*)\(.*/\1/p' "$file" | while read -r target; do
		echo "fuzz: $(dirname "$file") $target"
		(cd "$(dirname "$file")" && go test -run='^$' -fuzz="^$target\$" -fuzztime="${FUZZTIME:-30s}" . </dev/null)
	done
done
