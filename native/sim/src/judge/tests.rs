//! The judge sees what is wrong: each story breaks one rule, and the judge names it.

use super::*;

const BUDGET: usize = 1000;

/// Two channels of one record each, and a process that receives both. Message 0 lies on channel 0; message 1 was sent
/// on channel 1 by a process that had delivered message 0.
struct Story {
    judge: Judge,
}

impl Story {
    fn new() -> Self {
        let mut judge = Judge::default();
        for number in [1, 2] {
            let mut id = [0; 20];
            id[15] = number;
            judge.channel_created(id);
        }
        judge.process_added();
        judge.process_added();
        judge.written(written(0, 5), true);
        assert_eq!(judge.started(0, &[subscription(0)], BUDGET, false), None);
        assert_eq!(judge.fed(0, 0, Carriage::Intact), Expected::Taken);
        assert_eq!(judge.delivered(0, 0), Ok(()));
        let stamp = judge.stamp(0, &stamp(&judge, &[(0, 5)])).unwrap();
        judge.sent(0, written(1, 0), stamp);
        judge.message_committed(1);
        judge.committed(0);
        assert_eq!(judge.started(1, &[subscription(0), subscription(1)], BUDGET, false), None);
        Self { judge }
    }

    fn feed(&mut self, message: usize) {
        assert_eq!(self.judge.fed(1, message, Carriage::Intact), Expected::Taken);
    }
}

fn subscription(channel: usize) -> Subscription {
    Subscription { name: channel, channel, start: 0 }
}

fn written(channel: usize, position: i64) -> Written {
    Written { channel, position, content: Bytes::from_static(b"content"), header_bytes: 0, poisoned: false }
}

fn stamp(judge: &Judge, causes: &[(usize, i64)]) -> Vec<u8> {
    let named = causes.iter().map(|(channel, position)| (judge.channels[*channel].id, *position));
    encode_causes(&named.collect::<Vec<_>>())
}

fn broken<T: std::fmt::Debug>(judged: Judged<T>) -> Rule {
    judged.expect_err("the judge saw nothing").rule
}

#[test]
fn the_right_order_is_right() {
    let mut story = Story::new();
    story.feed(1);
    assert_eq!(story.judge.drained(1), Ok(()));
    story.feed(0);
    assert_eq!(story.judge.delivered(1, 0), Ok(()));
    assert_eq!(story.judge.delivered(1, 1), Ok(()));
    assert_eq!(story.judge.quiet(1), Ok(()));
}

#[test]
fn an_effect_before_its_cause_is_seen() {
    let mut story = Story::new();
    story.feed(1);
    assert_eq!(broken(story.judge.delivered(1, 1)), Rule::CauseFirst);
}

#[test]
fn an_effect_before_its_cause_is_seen_even_if_its_stamp_hides_it() {
    let mut story = Story::new();
    story.judge.messages[1].stamp.clear();
    story.feed(1);
    assert_eq!(broken(story.judge.delivered(1, 1)), Rule::CauseFirst);
}

#[test]
fn a_message_delivered_twice_is_seen() {
    let mut story = Story::new();
    story.feed(0);
    assert_eq!(story.judge.delivered(1, 0), Ok(()));
    assert_eq!(broken(story.judge.delivered(1, 0)), Rule::Once);
}

#[test]
fn an_aborted_delivery_is_to_come_again() {
    let mut story = Story::new();
    story.feed(0);
    assert_eq!(story.judge.delivered(1, 0), Ok(()));
    story.judge.ended(1);
    assert_eq!(story.judge.started(1, &[subscription(0)], BUDGET, false), None);
    assert_eq!(broken(story.judge.quiet(1)), Rule::NothingLost);
    story.feed(0);
    assert_eq!(story.judge.delivered(1, 0), Ok(()));
}

#[test]
fn a_message_that_is_kept_back_is_seen() {
    let mut story = Story::new();
    story.feed(0);
    assert_eq!(broken(story.judge.drained(1)), Rule::NothingLost);
    assert_eq!(broken(story.judge.quiet(1)), Rule::NothingLost);
}

#[test]
fn a_message_before_the_head_of_its_channel_is_seen() {
    let mut story = Story::new();
    story.judge.written(written(0, 7), true);
    story.feed(0);
    story.feed(2);
    assert_eq!(broken(story.judge.delivered(1, 2)), Rule::ChannelOrder);
}

#[test]
fn a_higher_channel_before_a_lower_one_is_seen() {
    let mut story = Story::new();
    story.judge.messages[1].stamp.clear();
    story.judge.messages[1].past = Set::default();
    story.feed(0);
    story.feed(1);
    assert_eq!(broken(story.judge.delivered(1, 1)), Rule::LowestFirst);
}

#[test]
fn a_stamp_that_lacks_a_cause_is_seen() {
    let story = Story::new();
    assert_eq!(broken(story.judge.stamp(0, &stamp(&story.judge, &[]))), Rule::StampTooSmall);
}

#[test]
fn a_stamp_that_names_too_much_is_seen() {
    let story = Story::new();
    for causes in [&[(0, 6)][..], &[(0, 5), (1, 0)], &[(0, 5), (1, 9)]] {
        assert_eq!(broken(story.judge.stamp(0, &stamp(&story.judge, causes))), Rule::StampTooLarge);
    }
    assert_eq!(broken(story.judge.stamp(0, &[1])), Rule::StampTooLarge);
}

#[test]
fn another_content_is_seen() {
    let story = Story::new();
    assert_eq!(broken(story.judge.content(0, b"contents")), Rule::Content);
}

#[test]
fn refusals_are_held_against_what_happened() {
    let mut story = Story::new();
    let judge = &story.judge;
    assert_eq!(broken(judge.refused(1, Expected::Taken, reason::UNDECODABLE, None)), Rule::NeedlessRefusal);
    let expected = story.judge.fed(1, 0, Carriage::Broken(3));
    assert_eq!(expected, Expected::Refused(reason::UNDECODABLE));
    assert_eq!(broken(story.judge.answered(0, expected, false)), Rule::MissingRefusal);
    assert_eq!(broken(story.judge.refused(1, expected, reason::OUT_OF_ORDER, None)), Rule::MissingRefusal);
    assert_eq!(story.judge.refused(1, expected, reason::UNDECODABLE, None), Ok(()));
}

#[test]
fn a_channel_that_joins_is_covered_up_to_a_delivered_effect() {
    let mut story = Story::new();
    assert_eq!(story.judge.started(1, &[subscription(1)], BUDGET, false), None);
    story.feed(1);
    assert_eq!(story.judge.delivered(1, 1), Ok(()));
    story.judge.committed(1);
    assert_eq!(story.judge.started(1, &[subscription(0), subscription(1)], BUDGET, false), None);
    assert_eq!(story.judge.fed(1, 0, Carriage::Intact), Expected::Dropped);
    assert_eq!(broken(story.judge.delivered(1, 0)), Rule::Once);
}
