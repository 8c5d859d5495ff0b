#!/usr/bin/env bash
# Does one small wrong after the other to the engines and the store, and counts which are noticed: by their
# simulator in its first SEEDS worlds, and by the test that is named for it. One that is not noticed by
# both fails. The builds with wrongs in them have a target directory of their own, without RocksDB.
source "$(dirname "$0")/common.sh"

SEEDS="${SEEDS:-3000}"

export CARGO_TARGET_DIR="$CARGO_TARGET_DIR-sabotage"
unset PARSLEY_SABOTAGE
sabotages=0
caught=0

# Its exit status tells the same as its last line.
simulate() { { "$CARGO_TARGET_DIR/release/$1" --seeds "0..$SEEDS" 2>/dev/null || true; } | tail -n 1; }

# $1: the package and binary of a simulator; $2: its table, per line the wrong, a tab, the test that has to notice it.
sabotage() {
  local simulator=$1 table=$2 name test result violations shown
  local -a build=(--release --quiet --package "$simulator" --features sabotage)
  cargo build "${build[@]}"
  cargo test "${build[@]}" --test rules --no-run

  # With no wrong chosen everything passes, or a catch would prove nothing.
  cargo test "${build[@]}" --test rules >/dev/null || die "$simulator: the rules are broken without any sabotage"
  [ "$(simulate "$simulator")" = "RESULT seeds=$SEEDS violations=0" ] \
    || die "$simulator finds something without any sabotage"

  printf '| wrong, %s | worlds that notice it, of %d | test that notices it |\n|---|---|---|\n' "$simulator" "$SEEDS"
  while IFS=$'\t' read -r name test; do
    sabotages=$((sabotages + 1))
    export PARSLEY_SABOTAGE="$name"
    result="$(simulate "$simulator")"
    violations="${result##*violations=}"
    # A name that is no test runs none and passes, which counts as not noticed.
    if cargo test "${build[@]}" --test rules -- --exact "$test" >/dev/null 2>&1; then
      shown="NOT by $test"
    else
      shown="\`$test\`"
      [ "${violations:-0}" -eq 0 ] || caught=$((caught + 1))
    fi
    printf '| %s | %s | %s |\n' "$name" "${violations:-0}" "$shown"
  done <"$table"
  unset PARSLEY_SABOTAGE
}

sabotage parsley-sim native/sim/sabotages.tsv
sabotage parsley-journal-sim native/journal-sim/sabotages.tsv

printf 'RESULT sabotages=%d caught=%d\n' "$sabotages" "$caught"
[ "$sabotages" -eq "$caught" ]
