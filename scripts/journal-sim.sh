#!/usr/bin/env bash
# The journal's simulator: SEEDS=FROM..TO runs that many worlds on every core, SEED=n replays one with its story.
source "$(dirname "$0")/common.sh"

scripts/native.sh
if [ -n "${SEED:-}" ]; then
  exec "$CARGO_TARGET_DIR/release/parsley-journal-sim" --seed "$SEED"
fi
exec "$CARGO_TARGET_DIR/release/parsley-journal-sim" --seeds "${SEEDS:-0..20000}"
