#!/usr/bin/env bash
# Removes what a build leaves in this checkout. The cargo target directory is shared by checkouts and
# costs minutes, so it stays; the last line says how to remove that too.
source "$(dirname "$0")/common.sh"

find . -name build -type d -not -path './.git/*' -prune -exec rm -rf {} +
rm -rf .gradle
say "Cleaned. RocksDB's build is kept; to remove it too: rm -rf $CARGO_TARGET_DIR"
