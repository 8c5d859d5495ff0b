//! Holds no code: cargo wants a target that is always built beside the benchmarks.
