//! What the tests have in common.

use parsley_journal::Config;
use parsley_journal::action::Call;
use parsley_journal::records::Identity;
use parsley_journal_sim::stage::Reply;

pub fn key(text: &str) -> Identity {
    let (namespace, id) = text.split_once('/').expect("namespace/id");
    Identity::new(namespace, id)
}

pub fn config(lanes_max: usize) -> Config {
    Config {
        client: "c".into(),
        epoch: 0,
        codec_version: 1,
        chooses_preconditions: false,
        lanes_max,
        attempts_max: None,
        age_max_ms: None,
    }
}

/// As it should be, for every call.
pub fn honest(_: &Call) -> Reply {
    Reply::Honest
}
