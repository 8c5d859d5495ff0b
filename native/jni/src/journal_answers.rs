//! What Java sends about a mutation journal: how to open it, what to do, and the answers to its calls.
//!
//! ```text
//! config    := text client | long epoch | int codecVersion | flag choosesPreconditions | int lanesMax
//!              | int attemptsMax, 0 for none | flag [long ageMaxMs] | flag handsOutCommits
//! operation := byte 1 mutate: identity | text mutator | int version | bytes args
//!                   2 drain: identity     3 drain everything
//!                   4 retry: long         5 discard: long | text note
//! answer    := byte 1 done              2 threw: text       3 cancelled          4 fatal         5 drawn: long
//!                   6 known             7 unknown           8 mismatch: text     9 unavailable  10 meta: meta?
//!                  11 value: presence  12 declined         13 codec: text       14 args codec: text
//!                  15 mutator missing: text                 16 stales: list of identity | list of text
//!                  17 accepted: presence | int codecVersion | text? etag | flag [identity target]
//!                  18 conflict: meta?  19 rejected: text   20 server wins       21 confirmed: long
//! ```

use bytes::Bytes;
use parsley_journal::Config;
use parsley_journal::action::{Accepted, Answer, Mutator};
use parsley_journal::engine::Operation;
use parsley_journal::mutate::Mutation;

use crate::wire::Reader;
use parsley_core::crossing::Malformed;

/// How a journal is opened.
pub(crate) struct Opening {
    pub(crate) config: Config,
    /// Java says when each transaction is written, instead of finding it written: for tests that kill at one.
    pub(crate) hands_out_commits: bool,
}

pub(crate) fn opening(message: Bytes) -> Result<Opening, Malformed> {
    let mut from = Reader::new(message)?;
    let config = Config {
        client: from.text()?,
        epoch: from.long()?.cast_unsigned(),
        codec_version: from.unsigned_int()?,
        chooses_preconditions: from.flag()?,
        lanes_max: usize::try_from(from.unsigned_int()?).unwrap_or(usize::MAX),
        attempts_max: match from.unsigned_int()? {
            0 => None,
            max => Some(max),
        },
        age_max_ms: if from.flag()? { Some(from.long()?) } else { None },
    };
    if config.client.is_empty() || config.lanes_max == 0 || config.codec_version == 0 {
        return Err(from.malformed("no client name, no lane, or a codec without a version"));
    }
    let hands_out_commits = from.flag()?;
    from.end()?;
    Ok(Opening { config, hands_out_commits })
}

pub(crate) fn operation(message: Bytes) -> Result<Operation, Malformed> {
    let mut from = Reader::new(message)?;
    let operation = match from.byte()? {
        1 => Operation::Mutate(Mutation {
            key: from.identity()?,
            mutator: Mutator { name: from.text()?, version: from.unsigned_int()?, args: from.bytes()? },
        }),
        2 => Operation::Drain(from.identity()?),
        3 => Operation::DrainAll,
        4 => Operation::Retry(from.unsigned_long()?),
        5 => Operation::Discard { sequence: from.unsigned_long()?, note: from.text()? },
        _ => return Err(from.malformed("an unknown operation")),
    };
    from.end()?;
    Ok(operation)
}

pub(crate) fn answer(message: Bytes) -> Result<Answer, Malformed> {
    let mut from = Reader::new(message)?;
    let text = |from: &mut Reader| from.text().map(|text| text.as_ref().to_owned());
    let answer = match from.byte()? {
        1 => Answer::Done,
        2 => Answer::Threw(text(&mut from)?),
        3 => Answer::Cancelled,
        4 => Answer::Fatal,
        5 => Answer::Drawn(from.unsigned_long()?),
        6 => Answer::Known,
        7 => Answer::Unknown,
        8 => Answer::Mismatch(text(&mut from)?),
        9 => Answer::Unavailable,
        10 => Answer::Meta(from.meta()?),
        11 => Answer::Value(from.presence()?),
        12 => Answer::Declined,
        13 => Answer::Codec(text(&mut from)?),
        14 => Answer::ArgsCodec(text(&mut from)?),
        15 => Answer::MutatorMissing(text(&mut from)?),
        16 => Answer::Stales { keys: from.list(Reader::identity)?, namespaces: from.list(Reader::text)? },
        17 => Answer::Accepted(Accepted {
            value: from.presence()?,
            codec_version: from.unsigned_int()?,
            etag: from.text_or_none()?,
            target: if from.flag()? { Some(from.identity()?) } else { None },
        }),
        18 => Answer::Conflict(from.meta()?),
        19 => Answer::Rejected(text(&mut from)?),
        20 => Answer::ServerWins,
        21 => Answer::Confirmed(from.unsigned_long()?),
        _ => return Err(from.malformed("an unknown answer")),
    };
    from.end()?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use parsley_journal::records::{Identity, Presence};

    use super::*;
    use crate::wire::Writer;

    fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut to = Writer::new();
        write(&mut to);
        to.message().to_vec()
    }

    fn accepted() -> Vec<u8> {
        written(|to| {
            to.byte(17).presence(&Presence::Present(Bytes::from_static(b"v"))).int(3);
            to.text_or_none(Some("e")).identity_or_none(Some(&Identity::new("n", "t")));
        })
    }

    #[test]
    fn every_field_of_an_answer_is_read() {
        let expected = Answer::Accepted(Accepted {
            value: Presence::Present(Bytes::from_static(b"v")),
            codec_version: 3,
            etag: Some("e".into()),
            target: Some(Identity::new("n", "t")),
        });
        assert_eq!(answer(accepted().into()), Ok(expected));
    }

    #[test]
    fn every_cut_of_a_message_is_malformed_and_so_is_a_byte_too_many() {
        let whole = accepted();
        for cut in 0..whole.len() {
            assert!(answer(Bytes::copy_from_slice(&whole[..cut])).is_err(), "cut at {cut}");
        }
        assert!(answer([&whole[..], &[0]].concat().into()).is_err());
    }

    #[test]
    fn another_format_version_is_malformed() {
        let mut message = accepted();
        message[0] += 1;
        assert!(answer(message.into()).is_err());
    }

    #[test]
    fn unknown_kinds_and_impossible_numbers_are_malformed() {
        assert!(
            answer(
                written(|to| {
                    to.byte(22).byte(0);
                })
                .into()
            )
            .is_err()
        );
        assert!(
            answer(
                written(|to| {
                    to.byte(5).signed_long(-1).byte(0);
                })
                .into()
            )
            .is_err()
        );
        assert!(
            operation(
                written(|to| {
                    to.byte(0).byte(0);
                })
                .into()
            )
            .is_err()
        );
        assert!(
            operation(
                written(|to| {
                    to.byte(4).signed_long(-1).byte(0);
                })
                .into()
            )
            .is_err()
        );
        assert!(
            answer(
                written(|to| {
                    to.byte(16).signed_long(-1).byte(0);
                })
                .into()
            )
            .is_err()
        );
        assert!(
            answer(
                written(|to| {
                    to.byte(2).bytes(b"\xff").byte(0);
                })
                .into()
            )
            .is_err()
        );
        let no_client = written(|to| {
            to.text("").long(7).int(1).flag(false).int(4).int(0).flag(false).flag(false);
        });
        assert!(opening(no_client.into()).is_err());
    }
}
