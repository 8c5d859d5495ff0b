#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsley_fuzz::held_v2(bytes));
