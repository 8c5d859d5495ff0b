#!/usr/bin/env bash
# Removes what a build leaves in this checkout. The cargo target directories are shared by checkouts and
# cost minutes, so they stay; the last lines say how large they are and how to remove them too.
source "$(dirname "$0")/common.sh"

find . -name build -type d -not -path './.git/*' -prune -exec rm -rf {} +
rm -rf .gradle
say "Cleaned this checkout. Kept for all checkouts; a build of RocksDB takes minutes:"
for cache in "$CARGO_TARGET_DIR" "$CARGO_TARGET_DIR-sabotage"; do
  [ ! -d "$cache" ] || say "  $(du -sh "$cache" | cut -f 1), to remove it: rm -rf $cache"
done
