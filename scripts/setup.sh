#!/usr/bin/env bash
# Makes sure that the tools of the build are there: installs what is missing through apt, as root or
# through sudo, and elsewhere says what is missing. Quick and silent when everything is there.
source "$(dirname "$0")/common.sh"

RUST_MINIMUM="$(sed -nE 's/^rust-version = "(.+)"$/\1/p' Cargo.toml)"

missing=() # Debian packages
has() { command -v "$1" >/dev/null 2>&1; }

# bindgen, which reads RocksDB's headers, loads libclang when it runs; its package brings it. A
# libclang-cpp beside it is another library, which LLVM's other packages bring and bindgen can't use.
has_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] && return 0
  compgen -G '/usr/lib/llvm-*/lib/libclang.so*' >/dev/null && return 0
  compgen -G '/usr/lib/llvm-*/lib/libclang-[0-9]*.so*' >/dev/null && return 0
  compgen -G '/usr/lib/*/libclang.so*' >/dev/null && return 0
  compgen -G '/usr/lib/*/libclang-[0-9]*.so*' >/dev/null && return 0
  [ "$(uname -s)" = Darwin ] && has xcrun
}

has make || missing+=(make)
has c++ || missing+=(g++)
has nm || missing+=(binutils)
has_libclang || missing+=(libclang-dev)
find_jdk >/dev/null || missing+=(openjdk-17-jdk-headless)
has gradle || missing+=(gradle)
has shellcheck || missing+=(shellcheck)

install_with_apt() {
  local -a as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    has sudo || return 1
    as_root=(sudo)
  fi
  has apt-get || return 1
  say "Installing ${missing[*]} with apt"
  "${as_root[@]}" apt-get update -qq || return 1
  # Debian 13 and later ship a newer default JDK and no 17; any from 17 on builds the library.
  if ! apt-cache show openjdk-17-jdk-headless >/dev/null 2>&1; then
    missing=("${missing[@]/#openjdk-17-jdk-headless/default-jdk-headless}")
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

if [ "${#missing[@]}" -gt 0 ] && ! install_with_apt; then
  die "these are missing and could not be installed here: ${missing[*]} (Debian's package names).
  On Debian or Ubuntu run: sudo apt-get install ${missing[*]}
  Elsewhere install the same tools with your package manager: a C++ compiler, libclang, a JDK 17,
  Gradle 4.4.1 or newer, GNU make, binutils and shellcheck."
fi

if ! has cargo || ! has rustc; then
  die "Rust is missing: install Rust $RUST_MINIMUM or newer with rustup (Debian 12's package is too old)."
fi
rust_version="$(rustc --version | awk '{print $2}')"
oldest="$(printf '%s\n%s\n' "$RUST_MINIMUM" "${rust_version%%-*}" | sort -V | head -n 1)"
if [ "$oldest" != "$RUST_MINIMUM" ]; then
  die "Rust $rust_version is too old, $RUST_MINIMUM is needed: run 'rustup update stable'."
fi
