#!/usr/bin/env bash
# Every check that needs no running program. Each part runs even if an earlier one failed, so that one
# run shows all there is to mend.
source "$(dirname "$0")/common.sh"

failed=()
check() {
  local name=$1
  shift
  say "$name"
  "$@" || failed+=("$name")
}

check "house rules" scripts/house-rules.sh
check "shellcheck" shellcheck -x scripts/*.sh .ci/run
check "rustfmt" cargo fmt --all --check
# The first native build says what it is waiting for; clippy itself needs RocksDB's bindings.
check "native build" scripts/native.sh
check "clippy" cargo clippy --release --quiet --workspace --all-targets -- -D warnings
check "google-java-format" run_gradle checkFormat
check "javac -Xlint:all -Werror" run_gradle testClasses

[ "${#failed[@]}" -eq 0 ] || die "lint failed: ${failed[*]}"
say "Lint passed"
