//! Tests of the ordering store through its public names.

mod contract;
mod crash;
mod rocks;
mod support;
mod task;
