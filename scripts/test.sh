#!/usr/bin/env bash
# All tests: Rust, then the library's Java tests (on JDK 17 and 25), then the tests against brokers.
# A failure does not keep the others from running. The last line sums up the runners' own summaries.
source "$(dirname "$0")/common.sh"

log="build/test.log"
mkdir -p build
: >"$log"
failed=()

run() {
  local name=$1
  shift
  say "$name"
  # The log is what the totals are counted from.
  "$@" 2>&1 | tee -a "$log" || failed+=("$name")
}

run "native build" scripts/native.sh
run "Rust tests" cargo test --release --workspace --quiet
run "Java tests of the library" run_gradle :parsley-streams:junit
if jdk_25="$(find_jdk_25)"; then
  run "Java tests of the library on JDK 25" run_gradle :parsley-streams:junitOnJdk25 -PtestJdk="$jdk_25"
else
  say "No JDK 25 here (PARSLEY_JDK_25 names one): the library's tests ran on one JDK only"
fi
run "Java tests of the demo" run_gradle :demo:junit
run "Tests against a broker" run_gradle :tests:junit

# cargo: "test result: ok. 12 passed; 0 failed; ..."   JUnit: "[        12 tests successful      ]"
totals="$(awk '
  /^test result:/ { for (i = 2; i <= NF; i++) {
                      if ($i ~ /^passed/) passed += $(i - 1)
                      if ($i ~ /^failed/) failed += $(i - 1) } }
  /^\[ +[0-9]+ tests successful/ { passed += $2 }
  /^\[ +[0-9]+ tests failed/ { failed += $2 }
  END { print passed + 0, failed + 0 }' "$log")"

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'parsley: failed: %s\n' "${failed[*]}" >&2
fi
printf '%d passed, %d failed\n' "${totals% *}" "${totals#* }"
[ "${#failed[@]}" -eq 0 ]
