#!/usr/bin/env bash
# Puts the jar and its POM into the local Maven repository, for a Maven or Gradle build to find.
source "$(dirname "$0")/common.sh"

scripts/native.sh
run_gradle :parsley-streams:publishToMavenLocal
say "Installed dev.parsley:parsley-streams:$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml | head -n 1)"
