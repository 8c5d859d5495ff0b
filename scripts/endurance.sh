#!/usr/bin/env bash
# The long form of the tests that repeat something, with the figures they print. SEED=n repeats a seed.
source "$(dirname "$0")/common.sh"

options=(-Plong -Pdetails=tree)
[ -z "${SEED:-}" ] || options+=(-Pseed="$SEED")
run_gradle :parsley-streams:junit "${options[@]}" -Ptests='.*Native(Chaos|Panic)Test'
run_gradle :tests:junit "${options[@]}" -Ptests='.*(Growth|Exit|CloseTime|FencedClose|HundredTasks)Test'
