//! Small wrongs, each switched on by name, that prove that the tests and the simulator would notice it.
//!
//! Compiled only with the feature `sabotage`, which no ordinary build has; `make sabotage` builds it in a target
//! directory of its own. Without the feature every question is answered `false` by the compiler.

/// Whether the wrong that the environment variable `PARSLEY_SABOTAGE` names is this one.
#[cfg(feature = "sabotage")]
pub(crate) fn is(name: &str) -> bool {
    static NAME: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    NAME.get_or_init(|| std::env::var("PARSLEY_SABOTAGE").ok()).as_deref() == Some(name)
}

/// No wrong is ever done.
#[cfg(not(feature = "sabotage"))]
#[inline]
pub(crate) const fn is(_name: &str) -> bool {
    false
}
