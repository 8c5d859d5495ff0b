#!/usr/bin/env bash
# Leaves the binary in build/bin and the jar, checked to hold the native library, in build/libs.
source "$(dirname "$0")/common.sh"

scripts/native.sh
run_gradle :parsley-streams:publishJar
say "Built build/bin/parsley and $(ls build/libs/parsley-streams-*.jar)"
