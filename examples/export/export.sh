#!/bin/sh
# Writes 100 pages of rows to the file $1. SOLOTICK_POSITION is "PAGE BYTES" of the last page that an
# earlier attempt has written; what it wrote after that is written again.
set -eu
position=${SOLOTICK_POSITION:-0 0}
page=${position% *}
bytes=${position#* }
touch "$1"
truncate -s "$bytes" "$1"
while [ "$page" -lt 100 ]; do
  page=$((page + 1))
  for row in 1 2 3 4 5 6 7 8 9 10; do echo "order $((page * 10 - 10 + row))"; done >>"$1"
  sync "$1" # the position must not be ahead of the file
  bytes=$(wc -c <"$1")
  sleep "${EXPORT_PAUSE:-0.2}" # stands for a slow query
  # POSITION, PERCENT and TEXT, with tabs in between; everything up to the first tab is the position.
  printf '%d %d\t%d\tpage %d of 100\n' "$page" "$bytes" "$page" "$page" >&"$SOLOTICK_CHECKPOINT_FD"
done
