#!/usr/bin/env bash
# Applies the formatters that `make lint` checks.
source "$(dirname "$0")/common.sh"

cargo fmt --all
run_gradle formatJava
