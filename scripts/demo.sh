#!/usr/bin/env bash
# Runs the demo outside of Gradle, so that its progress line has the terminal.
source "$(dirname "$0")/common.sh"

scripts/native.sh
say "Building the demo"
run_gradle :demo:launcher
JAVA_HOME="$(find_jdk)"
arguments=()
[ -z "${SEED:-}" ] || arguments+=(--seed "$SEED")
[ -z "${RECORDS:-}" ] || arguments+=(--records "$RECORDS")
[ -z "${INPUT:-}" ] || arguments+=(--input "$INPUT")
[ ! -t 1 ] || arguments+=(--live)
exec "$JAVA_HOME/bin/java" @build/demo/launcher.args "${arguments[@]}"
