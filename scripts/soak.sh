#!/usr/bin/env bash
# Breaks applications, brokers and clocks at work for MINUTES, and judges what comes out of it. SEED
# repeats what is broken when; TRIALS chooses from those of tests/.../faults/Trial.java.
source "$(dirname "$0")/common.sh"

scripts/native.sh
say "Building the soak"
run_gradle :tests:soakLauncher
JAVA_HOME="$(find_jdk)"
# Every process logs to a file of its own; those of an earlier run would be taken for ours, and what
# a run that was cut short has left of brokers and states is of no use.
rm -rf build/soak/log build/soak/tmp
mkdir -p build/soak/log build/soak/tmp
read -ra trials <<<"${TRIALS:-}"
exec "$JAVA_HOME/bin/java" @build/soak/launcher.args \
  "${MINUTES:-30}" "${SEED:-$((RANDOM * 32768 + RANDOM))}" "${trials[@]}"
