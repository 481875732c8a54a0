#!/bin/sh
# Takes the pictures in docs/console of a fleet that runs for 25 minutes: test/browser/testdata/fleet.yaml.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p docs/console
SCREENSHOTS=$PWD/docs/console
export SCREENSHOTS
cd test/browser
exec go test -tags screenshots -run TestTakeScreenshots -timeout 40m -count=1 -v .
