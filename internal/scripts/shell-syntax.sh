#!/bin/sh
# Lets each shell script be read, without being run, by the shell that its first line names.
set -eu

for script in .ci/* internal/scripts/*; do
	case $(head -n 1 "$script") in
	*bash) bash -n "$script" ;;
	*sh) sh -n "$script" ;;
	*)
		echo "$script: its first line names no shell" >&2
		exit 1
		;;
	esac
done
