#!/bin/sh
# Takes the pictures in docs/console of a fleet that runs for two minutes: test/browser/testdata/fleet.yaml.
set -eu
cd "$(dirname "$0")/.."
mkdir -p docs/console
SCREENSHOTS=$PWD/docs/console
export SCREENSHOTS
cd test/browser
exec go test -tags screenshots -run TestTakeScreenshots -count=1 -v .
