#!/usr/bin/env bash
# The benchmarks. The profile is named so that cargo does not build RocksDB a second time for `bench`.
source "$(dirname "$0")/common.sh"

scripts/native.sh
cargo bench --profile release --workspace --bench engine --bench journal

say "A journal of a million pending mutations"
cargo run --release --quiet -p parsley-mutations --example journal_bench

say "The mutation journal from Java"
run_gradle :benches:jmh

say "The causal node inside Kafka Streams, and the mutation journal beside an outbox"
run_gradle :benches:bench
