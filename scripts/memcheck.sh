#!/usr/bin/env bash
# Looks below the Rust tests for memory errors and leaks. Valgrind runs those that have RocksDB in them, as they are
# built for every other purpose; the address and leak sanitizers run those of the pure crates, which a nightly
# compiler builds in a target directory of its own, without RocksDB. The last line is a summary.
source "$(dirname "$0")/common.sh"

command -v valgrind >/dev/null || die "valgrind is missing: install it with your package manager"
rustup run nightly rustc --version >/dev/null 2>&1 || die "a nightly Rust is missing: rustup toolchain install nightly"

export RUST_BACKTRACE=0 # What a backtrace reads stays in memory.
runs=0
faults=0
run() { # $1: what runs, then the command
  local name=$1 log=build/memcheck.log
  shift
  mkdir -p build
  runs=$((runs + 1))
  if "$@" >"$log" 2>&1; then
    printf '%s: %s\n' "$name" "$(grep -E '^test result|^RESULT' "$log" | tail -n 1)"
  else
    faults=$((faults + 1))
    printf '%s: FAILED\n' "$name"
    grep -vE '^test .* ok$' "$log" | tail -n 60
  fi
}

# The test programs of a build, which cargo names on standard error: "Executable unittests src/lib.rs (<file>)".
programs() { # $1: what the file names begin with, then the arguments of cargo
  local names=$1
  shift
  cargo "$@" --no-run 2>&1 >/dev/null | sed -nE 's/^ *Executable .*\((.*)\)$/\1/p' | grep -E "/($names)-[0-9a-f]+\$"
}

say "valgrind: the store on RocksDB, handles and the guard"
# What is reachable at the end are statics, RocksDB's own among them. Processes that a test starts in order to abort
# them are left alone.
found="$(programs 'parsley_store|suite|parsley_jni' test --release --workspace)" || die "the tests do not build"
for program in $found; do
  run "$(basename "$program")" \
    valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect \
    --errors-for-leak-kinds=definite,indirect --num-callers=30 --error-exitcode=99 \
    "$program" --test-threads=1
done

say "address and leak sanitizer: formats, engine, store in memory, simulator"
target="$(rustc -vV | sed -n 's/^host: //p')"
export CARGO_TARGET_DIR="$CARGO_TARGET_DIR-sanitized" RUSTFLAGS=-Zsanitizer=address
found="$(programs 'parsley_core|parsley_store|suite|rules' +nightly test --release --target "$target" \
  --package parsley-core --package parsley-store --package parsley-sim --no-default-features)" \
  || die "the tests do not build with the nightly compiler"
for program in $found; do
  run "$(basename "$program")" "$program"
done
cargo +nightly build --release --quiet --target "$target" --package parsley-sim --no-default-features
run "2000 worlds" "$CARGO_TARGET_DIR/$target/release/parsley-sim" --seeds 0..2000

printf 'RESULT runs=%d faults=%d\n' "$runs" "$faults"
[ "$faults" -eq 0 ]
