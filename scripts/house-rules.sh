#!/usr/bin/env bash
# Rules of this code base that no compiler knows. Each one prints the lines that break it.
source "$(dirname "$0")/common.sh"

FILE_LINES_MAX=700

# Kafka Streams' internals may change in any release, so each file that needs them is listed here,
# and says in its head why there is no public way.
STREAMS_INTERNALS_ALLOWED=(
  benches/src/main/java/dev/parsley/benches/BenchContext.java
  benches/src/main/java/dev/parsley/benches/NodeRun.java
  java/src/main/java/dev/parsley/streams/internal/CausalStore.java
  java/src/main/java/dev/parsley/streams/internal/KafkaInternals.java
  java/src/main/java/dev/parsley/streams/internal/ReadPositions.java
)

broken=0
rule() { # $1: the rule, $2: the lines that break it
  [ -n "$2" ] || return 0
  printf 'house rule broken: %s\n%s\n' "$1" "$2" | sed '2,$s/^/  /' >&2
  broken=1
}

sources() { # every source file with one of the given endings, committed or not
  local ending
  for ending in "$@"; do
    git ls-files --cached --others --exclude-standard -- "*.$ending"
  done | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
  done
}

# Both take file names on standard input; finding nothing is not a failure.
only() { grep -E "$1" || true; }
without() { grep -vE "$1" || true; }
lines_with() { xargs -r grep -nHE "$1" || true; }

rule "unsafe only in native/jni" "$(
  sources rs | without '^native/jni/' \
    | lines_with '(^|[^[:alnum:]_"`/])unsafe[[:space:]]*(\{|fn|impl|extern|trait)'
)"

# A test that sleeps is slow where it passes and fails where it is slow: wait on a condition instead.
rule "no sleeping in tests: wait on a condition (Await)" "$(
  sources java | only '(^|/)(test|tests)/' | lines_with 'Thread\.sleep|TimeUnit\.[A-Z]+\.sleep'
  sources rs | lines_with 'thread::sleep'
)"

too_long() {
  local file lines
  while IFS= read -r file; do
    lines="$(wc -l <"$file")"
    [ "$lines" -le "$FILE_LINES_MAX" ] || printf '%s: %d lines\n' "$file" "$lines"
  done
}
rule "at most $FILE_LINES_MAX lines a file" "$(sources java rs sh gradle | too_long)"

not_allowed() {
  local file allowed
  while IFS= read -r file; do
    for allowed in "${STREAMS_INTERNALS_ALLOWED[@]}"; do
      [ "$file" != "$allowed" ] || continue 2
    done
    printf '%s\n' "$file"
  done
}
rule "Kafka Streams internals only in the files listed in scripts/house-rules.sh" "$(
  sources java | not_allowed \
    | lines_with '^import (static )?org\.apache\.kafka\.streams\.([a-z]+\.)*internals\.'
)"

exit "$broken"
