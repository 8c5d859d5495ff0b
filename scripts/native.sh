#!/usr/bin/env bash
# Builds everything native: the `parsley` binary and the library that goes into the jar, with the one
# profile there is. Leaves the binary in build/bin. The first time it also compiles RocksDB's C++,
# which it announces and counts.
source "$(dirname "$0")/common.sh"

ROCKSDB_OBJECTS=343 # C++ files of RocksDB 11.8.1; for the progress line only
PROGRESS_SECONDS=30 # between two progress lines where there is no terminal

rocksdb_is_built() {
  compgen -G "$CARGO_TARGET_DIR/release/build/librocksdb-sys-*/out/librocksdb.a" >/dev/null
}

objects_done() {
  find "$CARGO_TARGET_DIR/release/build" -path '*librocksdb-sys-*' -name '*.o' 2>/dev/null | wc -l
}

# Counts finished object files until it is ended, every $1 seconds. Lines begin with $2 and end with
# $3: one live line on a terminal, a line now and then elsewhere, so that a log does not fill and a
# silent CI is not taken for a hung one.
show_progress() {
  local started=$SECONDS
  # The sleep must not keep a pipe open that somebody reads to its end.
  while sleep "$1" >/dev/null 2>&1; do
    printf '%s   RocksDB: %d of %d files compiled, %d min %02d s%s' "$2" "$(objects_done)" \
      "$ROCKSDB_OBJECTS" $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)) "$3"
  done
}

build() {
  # Always the whole workspace: a part of it can have other features of shared build dependencies, and
  # then RocksDB is compiled once more.
  cargo build --release --quiet --workspace
}

if rocksdb_is_built; then
  build
else
  say "First build: RocksDB's C++ takes about 13 minutes on two cores. This happens once; it is kept in"
  say "$CARGO_TARGET_DIR"
  if [ -t 1 ]; then
    show_progress 1 $'\r' '' &
  else
    show_progress "$PROGRESS_SECONDS" '' $'\n' &
  fi
  progress_pid=$!
  trap 'kill "$progress_pid" 2>/dev/null || true' EXIT
  build
  kill "$progress_pid" 2>/dev/null || true
  printf '\n'
fi

mkdir -p build/bin
install -m 755 "$CARGO_TARGET_DIR/release/parsley" build/bin/parsley

# Another RocksDB (rocksdbjni) lives in the same process, so no symbol of ours but the JNI entry
# points may be visible to the linker.
library="$CARGO_TARGET_DIR/release/libparsley_jni.so"
if [ -f "$library" ]; then
  strangers="$(nm -D --defined-only "$library" | awk '{print $NF}' | grep -vE '^(Java_|JNI_)' || true)"
  [ -z "$strangers" ] || die "$library exports more than Java_* and JNI_*:
$strangers"
  nm -D --defined-only "$library" | grep -qE ' (Java_|JNI_)' \
    || die "$library exports no JNI entry point"
fi
