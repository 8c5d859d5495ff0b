#!/usr/bin/env bash
# Plays the drain against a server of its own, with a client that is killed.
source "$(dirname "$0")/common.sh"

scripts/native.sh
cargo build --release --quiet -p parsley-drain-demo
exec "$CARGO_TARGET_DIR/release/parsley-drain-demo" --seed "${SEED:-1}" --mutations "${MUTATIONS:-10000}" \
  --namespaces "${NAMESPACES:-20}" --kills "${KILLS:-12}"
