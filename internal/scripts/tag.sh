#!/usr/bin/env bash
# Tags this commit as a version, once for each module that programs import. A module with a command
# gets its tag on a commit of its own, in which nothing is replaced: go install refuses a replace.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=${1:?usage: tag.sh VERSION}
module=github.com/solotick/solotick
libraries=$(git ls-files 'contrib/*/go.mod' 'lease/*/go.mod' | xargs -n1 dirname)
command=cmd/worker/full

for m in $libraries $command; do
	others=$(grep -E "^(require )?[[:space:]]*$module[^ ]* v" "$m/go.mod" | grep -v " $version$" || true)
	if [ -n "$others" ]; then
		echo "tag: $m/go.mod must require $module and its modules at $version" >&2
		exit 1
	fi
done
git diff --quiet HEAD || { echo "tag: commit first" >&2; exit 1; }
for m in "" $libraries; do
	git tag -a -m "${m:+$m/}$version" "${m:+$m/}$version"
done
work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree"; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree"
cd "$work/tree/$command"
for replaced in $(sed -n 's/^replace \([^ ]*\) .*/\1/p' go.mod); do
	go mod edit -dropreplace="$replaced"
done
git commit --quiet --all -m "$command: $version, without what development replaces"
git tag -a -m "$command/$version" "$command/$version"
