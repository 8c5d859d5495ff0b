//! Small wrongs, each switched on by name, that prove that the tests and the simulator would notice it.
//!
//! Compiled only with the feature `sabotage`, which no ordinary build has; `make sabotage` builds it in a target
//! directory of its own. Without the feature every question is answered `false` by the compiler.

/// The environment variable that names the wrong to do.
#[cfg(feature = "sabotage")]
pub const CHOSEN: &str = "PARSLEY_SABOTAGE";

/// Whether this wrong is to be done.
#[cfg(feature = "sabotage")]
pub fn is(name: &str) -> bool {
    static NAME: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    NAME.get_or_init(|| std::env::var(CHOSEN).ok()).as_deref() == Some(name)
}

/// No wrong is ever done.
#[cfg(not(feature = "sabotage"))]
#[inline]
pub const fn is(_name: &str) -> bool {
    false
}

/// The record part as a careless codec would keep it.
#[cfg(feature = "sabotage")]
pub(crate) fn kept(record: &bytes::Bytes) -> bytes::Bytes {
    use crate::held::Record;

    let Ok(mut content) = Record::decode(record) else { return record.clone() };
    if is("merge-null-with-empty") {
        content.key = content.key.or_else(|| Some(bytes::Bytes::new()));
        content.value = content.value.or_else(|| Some(bytes::Bytes::new()));
    }
    if is("drop-repeated-header") {
        content.headers.dedup_by(|later, earlier| later.name == earlier.name);
    }
    content.encode().unwrap_or_else(|| record.clone())
}
