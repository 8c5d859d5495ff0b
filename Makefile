# One menu of commands for people and for CI. `make help` explains each of them.
# The work itself is in scripts/, so that every line here can also be run by hand.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build test lint format demo demo-drain bench soak sim journal-sim sabotage endurance memcheck fuzz install clean

help: ## Show this list
	@printf 'Parsley: causal order for Kafka Streams\n\n'
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' \
	  | while IFS=$$'\t' read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done
	@printf '\nThe first build compiles RocksDB, once: about 13 minutes on two cores. It is kept in\n'
	@printf '$${XDG_CACHE_HOME:-~/.cache}/parsley/target, so a new checkout does not pay for it again.\n'

setup: ## Install the system packages that are missing (apt), or name them
	@scripts/setup.sh

build: setup ## Build build/bin/parsley and build/libs/parsley-streams-<version>.jar
	@scripts/build.sh

test: setup ## Run all Rust and Java tests, on JDK 17 and on JDK 25 where there is one
	@scripts/test.sh

lint: setup ## Check formatting, compiler warnings, clippy, shellcheck and the house rules
	@scripts/lint.sh

format: setup ## Apply rustfmt and google-java-format
	@scripts/format.sh

demo: setup ## Show it on a broker: make demo [SEED=n] [RECORDS=n] [INPUT=events.jsonl]
	@scripts/demo.sh

demo-drain: setup ## Show the drain: make demo-drain [SEED=n] [MUTATIONS=n] [NAMESPACES=n] [KILLS=n]
	@scripts/demo-drain.sh

bench: setup ## Measure: throughput against a broker, cost per record, held records
	@scripts/bench.sh

sim: setup ## Simulate worlds and judge them: make sim [SEEDS=0..1000000], or replay one: SEED=n
	@scripts/sim.sh

soak: setup ## Break processes, brokers and clocks under load and judge: make soak [MINUTES=30] [SEED=n]
	@scripts/soak.sh

journal-sim: setup ## The same for the mutation journal: make journal-sim [SEEDS=0..100000], or SEED=n
	@scripts/journal-sim.sh

sabotage: setup ## Prove that the simulators and the tests catch small wrongs, one after the other
	@scripts/sabotage.sh

endurance: setup ## Repeat opens, closes, fences, records and exits as often as docs/verification.md says
	@scripts/endurance.sh

memcheck: setup ## Run the Rust tests under valgrind and the sanitizers (needs valgrind and a nightly Rust)
	@scripts/memcheck.sh

fuzz: setup ## Fuzz one reader, on a nightly compiler: make fuzz TARGET=causes [SECONDS=60] [SAVE=1]
	@FUZZ_SECONDS="$(SECONDS)" scripts/fuzz.sh

install: setup ## Put the jar and its POM into the local Maven repository (~/.m2)
	@scripts/install.sh

clean: ## Remove build products of this checkout (the cached RocksDB build stays)
	@scripts/clean.sh
