#!/bin/sh
# Counts, in the comments of the Go code, the words that readers stumble over: fails when there are too many.
set -eu
exec go run ./internal/words "$@"
