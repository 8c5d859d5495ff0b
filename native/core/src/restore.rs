//! What is read back from the store before anything is delivered, and everything that is refused there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use crate::causes::Cause;
use crate::channel::{ChannelId, Position};
use crate::held::{self, VERSION_1, VERSION_2};
use crate::keys::{KeyError, RowKey, VERSION_KEY};
use crate::refusal::{Fault, Reason, Refusal};
use crate::rows::Rows;

/// Everything that the rows say, judged.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    /// `None`: a fresh store.
    pub(crate) version: Option<u8>,
    pub(crate) fed_up_to: BTreeMap<ChannelId, i64>,
    pub(crate) frontier: Vec<Cause>,
    pub(crate) past: Vec<Cause>,
    pub(crate) names: BTreeMap<String, ChannelId>,
    /// Ascending by position in each channel.
    pub(crate) holds: BTreeMap<ChannelId, Vec<Position>>,
}

/// The rules of a row in the order in which they are judged over the whole store: the lowest one broken is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    KeyLength,
    NumberLength,
    Knowledge,
    KeyContent,
    NegativeFedUpTo,
    HoldPlace,
    Name,
    HoldContent,
}

/// The first row that breaks the lowest rule.
#[derive(Default)]
struct Verdict {
    broken: Option<(Rule, Refusal)>,
}

impl Verdict {
    fn broken(&mut self, rule: Rule, refusal: Refusal) {
        if self.broken.as_ref().is_none_or(|(known, _)| rule < *known) {
            self.broken = Some((rule, refusal));
        }
    }
}

fn unreadable(what: impl std::fmt::Display) -> Refusal {
    Refusal::new(Reason::UnknownOrderingStateFormat, what.to_string())
}

fn bad_row(key: &[u8], what: impl std::fmt::Display) -> Refusal {
    let mut hex = String::with_capacity(2 * key.len());
    for byte in key {
        // Writing to a string can't fail.
        let _ = write!(hex, "{byte:02x}");
    }
    unreadable(format_args!("row {hex}: {what}"))
}

/// Reads and judges the whole store, decoding each held message once.
pub(crate) fn restore(rows: &dyn Rows) -> Result<Restored, Fault> {
    let Some(version) = rows.get(&VERSION_KEY)? else {
        return fresh(rows);
    };
    let [version @ (VERSION_1 | VERSION_2)] = version[..] else {
        let detail = format!("this build reads the store formats 01 and 02, not {:02x?}", &version[..]);
        return Err(unreadable(detail).into());
    };
    let mut restored = Restored { version: Some(version), ..Restored::default() };
    let mut verdict = Verdict::default();
    let mut causes = Vec::new();
    rows.visit(&mut |key, value| {
        match RowKey::parse(key) {
            Ok(row) => restored.take(row, version, key, value, &mut verdict, &mut causes),
            Err(error) => judge_key(key, value, error, &mut verdict),
        }
        ControlFlow::Continue(())
    })?;
    restored.judge_holds(&mut verdict);
    match verdict.broken {
        Some((_, refusal)) => Err(refusal.into()),
        None => Ok(restored),
    }
}

/// A store without a version is fresh if it has no rows at all.
fn fresh(rows: &dyn Rows) -> Result<Restored, Fault> {
    let mut any = false;
    rows.visit(&mut |_, _| {
        any = true;
        ControlFlow::Break(())
    })?;
    if any {
        return Err(unreadable("the store has rows but none that tells its format version").into());
    }
    Ok(Restored::default())
}

fn judge_key(key: &[u8], value: &[u8], error: KeyError, verdict: &mut Verdict) {
    // A name row's channel is judged with the keys, its name after the holds' places.
    let channel_is_good = || value.try_into().ok().and_then(ChannelId::from_bytes).is_some();
    let rule = match error {
        KeyError::Length => Rule::KeyLength,
        KeyError::KnowledgeTopic => Rule::Knowledge,
        KeyError::Name if channel_is_good() => Rule::Name,
        KeyError::Class | KeyError::Channel | KeyError::Name => Rule::KeyContent,
    };
    verdict.broken(rule, bad_row(key, error));
}

impl Restored {
    fn take(
        &mut self,
        row: RowKey<'_>,
        version: u8,
        key: &[u8],
        value: &[u8],
        verdict: &mut Verdict,
        causes: &mut Vec<Cause>,
    ) {
        match row {
            RowKey::Version => {} // Judged before the others.
            RowKey::FedUpTo(channel) => match number(value) {
                Some(position) if position < 0 => {
                    verdict.broken(Rule::NegativeFedUpTo, bad_row(key, "fedUpTo is negative").at(channel));
                }
                Some(position) => {
                    self.fed_up_to.insert(channel, position);
                }
                None => verdict.broken(Rule::NumberLength, bad_row(key, NOT_A_NUMBER).at(channel)),
            },
            RowKey::Frontier(channel) => take_position(key, channel, value, &mut self.frontier, verdict),
            RowKey::Past(channel) => take_position(key, channel, value, &mut self.past, verdict),
            RowKey::Name(name) => match value.try_into().ok().and_then(ChannelId::from_bytes) {
                Some(channel) => {
                    self.names.insert(name.to_owned(), channel);
                }
                None => verdict.broken(Rule::KeyContent, bad_row(key, "the value is no channel")),
            },
            RowKey::Hold(channel, position) => {
                let mut broken = |rule, what: &dyn std::fmt::Display| {
                    verdict.broken(rule, bad_row(key, what).at(channel).position(position));
                };
                let holds = self.holds.entry(channel).or_default();
                if holds.last().is_some_and(|last| *last >= position) {
                    broken(Rule::HoldPlace, &"the holds are out of position order");
                }
                holds.push(position);
                if value.first().is_some_and(|first| *first != version) {
                    broken(Rule::HoldPlace, &"the row is of another version than the store");
                }
                if let Err(error) = held::decode_into(key, value, causes) {
                    broken(Rule::HoldContent, &error);
                }
            }
        }
    }

    /// Holds are judged against fedUpTo, which is known once all rows are read.
    fn judge_holds(&self, verdict: &mut Verdict) {
        for (channel, positions) in &self.holds {
            let Some(last) = positions.last() else { continue };
            let fed_up_to = self.fed_up_to.get(channel).copied();
            let refusal = match fed_up_to {
                Some(fed_up_to) if last.get() <= fed_up_to => continue,
                Some(fed_up_to) => {
                    unreadable("a message is held above its channel's fedUpTo").bound(fed_up_to)
                }
                None => unreadable("messages are held of a channel that has no fedUpTo"),
            };
            verdict.broken(Rule::HoldPlace, refusal.at(*channel).position(*last));
        }
    }
}

const NOT_A_NUMBER: &str = "the value is not 8 bytes";

fn number(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_be_bytes)
}

fn take_position(key: &[u8], channel: ChannelId, value: &[u8], into: &mut Vec<Cause>, verdict: &mut Verdict) {
    match number(value).map(Position::new) {
        Some(Some(position)) => into.push(Cause { channel, position }),
        Some(None) => {
            verdict.broken(Rule::Knowledge, bad_row(key, "the position is negative or reserved").at(channel));
        }
        None => verdict.broken(Rule::NumberLength, bad_row(key, NOT_A_NUMBER).at(channel)),
    }
}
