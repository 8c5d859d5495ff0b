# shellcheck shell=bash
# What every script shares: where things are, which Java and Gradle are used, how a failure is said.
# Sourced, not run.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

# Outside the checkout, because RocksDB's C++ takes minutes and does not change with our sources.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/parsley/target}"

die() {
  printf 'parsley: %s\n' "$*" >&2
  exit 1
}

say() {
  printf '== %s\n' "$*"
}

# Prints the feature version (17, 21, ...) of the JDK in directory $1; fails if there is no compiler.
jdk_version() {
  [ -x "$1/bin/javac" ] || return 1
  "$1/bin/javac" -version 2>&1 | sed -nE 's/^javac ([0-9]+).*/\1/p'
}

# Prints the directory of the JDK to build with: JAVA_HOME if it will do, else a JDK 17, else the one
# on the PATH. Debian's Gradle does not run on every newer JDK, so 17 is preferred to the newest.
find_jdk() {
  local candidate version
  local -a candidates=()
  [ -z "${JAVA_HOME:-}" ] || candidates+=("$JAVA_HOME")
  candidates+=(/usr/lib/jvm/*17* /Library/Java/JavaVirtualMachines/*17*/Contents/Home)
  if command -v javac >/dev/null; then
    candidates+=("$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")")
  fi
  for candidate in "${candidates[@]}"; do
    version="$(jdk_version "$candidate")" || continue
    if [ "${version:-0}" -ge 17 ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# Prints the directory of a JDK 25, on which the library's own tests run once more; fails if there is none.
find_jdk_25() {
  local candidate
  for candidate in "${PARSLEY_JDK_25:-}" /usr/lib/jvm/*25* \
    /Library/Java/JavaVirtualMachines/*25*/Contents/Home; do
    if [ -n "$candidate" ] && [ "$(jdk_version "$candidate" || true)" = 25 ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# Runs Gradle on the chosen JDK. No daemon: a command that has ended leaves nothing running. Debian's
# script tells the Java version each time, on standard error, which is left out.
run_gradle() {
  JAVA_HOME="$(find_jdk)" || die "no JDK 17 or newer found: run 'make setup'"
  export JAVA_HOME
  {
    gradle --no-daemon --console=plain -q "$@" 2>&1 >&3 \
      | { grep -vE --line-buffered '^(openjdk version|OpenJDK (Runtime|64-Bit))' || true; } >&2
  } 3>&1
}
