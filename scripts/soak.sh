#!/usr/bin/env bash
# Breaks applications, brokers and clocks at work for MINUTES, and judges what comes out of it. SEED
# repeats what is broken when; TRIALS chooses from those of tests/.../faults/Trial.java.
source "$(dirname "$0")/common.sh"

scripts/native.sh
say "Building the soak"
run_gradle :tests:soakLauncher
JAVA_HOME="$(find_jdk)"
# Every process logs to a file of its own; those of earlier runs would be taken for ours.
rm -rf build/soak/log
mkdir -p build/soak/log
read -ra trials <<<"${TRIALS:-}"
exec "$JAVA_HOME/bin/java" @build/soak/launcher.args \
  "${MINUTES:-30}" "${SEED:-$((RANDOM * 32768 + RANDOM))}" "${trials[@]}"
