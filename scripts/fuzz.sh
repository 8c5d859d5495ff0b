#!/usr/bin/env bash
# libFuzzer on one reader: TARGET=<name> [FUZZ_SECONDS=60]. It starts from the corpus and adds what it finds to a copy of it in
# the target directory. SAVE=1 then adds those that reach code which the corpus did not reach to native/fuzz/corpus.
# Needs a nightly compiler and cargo-fuzz, which no other command does.
source "$(dirname "$0")/common.sh"

PACKAGE=native/fuzz/libfuzzer
TARGETS="$(sed -nE 's/^name = "([a-z0-9_]+)"$/\1/p' "$PACKAGE/Cargo.toml")"
TARGET="${TARGET:-}"
SECONDS_MAX="${FUZZ_SECONDS:-60}"
INPUT_BYTES_MAX=4096 # Longer inputs reach nothing new and are slow.

grep -qxF "${TARGET:-none}" <<<"$TARGETS" \
  || die "TARGET must be one of: $(tr '\n' ' ' <<<"$TARGETS")"
cargo +nightly --version >/dev/null 2>&1 \
  || die "fuzzing needs a nightly compiler: rustup toolchain install nightly"
cargo +nightly fuzz --version >/dev/null 2>&1 \
  || die "fuzzing needs cargo-fuzz: cargo install cargo-fuzz --locked"

# Another compiler with a sanitizer: it must not touch what the ordinary build keeps.
export CARGO_TARGET_DIR="$CARGO_TARGET_DIR-fuzz"
corpus="native/fuzz/corpus/$TARGET"
found="$CARGO_TARGET_DIR/found/$TARGET"
mkdir -p "$found" "$CARGO_TARGET_DIR/crashes"

fuzz() {
  local command=$1
  shift
  cargo +nightly fuzz "$command" --fuzz-dir "$PACKAGE" "$TARGET" "$@"
}

fuzz run "$found" "$corpus" -- -max_total_time="$SECONDS_MAX" -max_len="$INPUT_BYTES_MAX" \
  -artifact_prefix="$CARGO_TARGET_DIR/crashes/" -print_final_stats=1

if [ -n "${SAVE:-}" ]; then
  fuzz run "$corpus" "$found" -- -merge=1 -max_len="$INPUT_BYTES_MAX"
fi
