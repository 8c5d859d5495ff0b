//! What Java is told to do for a mutation journal.
//!
//! ```text
//! actions := repeated to the end:
//!   byte 1 call: long task | long call | byte kind | bytes, which are the fields of that kind
//!        2 abandon: long call         3 emit: event      4 poison: long sequence | long call
//!        5 finished: long task | outcome
//! mutator := text name | int version | bytes args
//! call    := 1 commit: text transition | long sequence, 0 for none       2 sync      3 draw: long windowMs
//!            4 resolve: identity       5 status: identity      6 read: identity
//!            7 project: identity | mutator | presence base
//!            8 precondition: identity | presence base | presence mine | meta? base
//!            9 stales: identity | mutator
//!           10 decode: mutator | int codecVersion | presence base | presence mine
//!           11 push: identity | text client | long sequence | int generation | long retiredThrough
//!                    | text idempotencyKey | int codecVersion | presence base | presence mine | meta? base
//!           12 fresh read: identity
//!           13 merge: identity | int codecVersion | presence base | presence mine | presence theirs
//!           14 apply: identity | bytes value | int codecVersion
//!           15 confirm fresh: identity | text? etag   16 clear: identity   17 mark stale: identity
//!           18 invalidate: text namespace             19 retire: long through
//! event   := long at | long sequence, 0 for none | flag [identity] | byte kind:
//!            1 enqueued: text mutator                 2 attempted: int generation | int attempt
//!            3 conflict observed: int generation | meta?
//!            4 acknowledged, 5 adopted: int generation | flag present
//!            6 effect applied, 7 effect skipped: int generation | int index
//!            8 failed: int generation | text state | note       9 parked: int generation | note
//!           10 retired: int generation | long retiredThrough
//!           11 checkpoint confirmed: long requested | long confirmed    12 checkpoint failed: long requested | note
//! note    := text kind | text detail | text message | long occurredAt
//! ```

use parsley_journal::action::{Action, Call, Mutator, PushRequest};
use parsley_journal::event::{Event, EventKind, FailureNote};

use crate::journal_lists::outcome;
use crate::wire::Writer;

/// Appends an action.
pub(crate) fn action(to: &mut Writer, action: &Action) {
    match action {
        Action::Call { task, id, call } => {
            to.byte(1).long(task.0).long(id.0).byte(kind(call)).framed(|to| fields(to, call));
        }
        Action::Abandon(id) => drop(to.byte(2).long(id.0)),
        Action::Emit(happened) => event(to.byte(3), happened),
        Action::Poison { sequence, call } => drop(to.byte(4).long(*sequence).long(call.0)),
        Action::Finished { task, outcome: ended } => outcome(to.byte(5).long(task.0), ended),
    }
}

fn kind(call: &Call) -> u8 {
    match call {
        Call::Commit { .. } => 1,
        Call::Sync => 2,
        Call::Draw { .. } => 3,
        Call::Resolve(_) => 4,
        Call::Status(_) => 5,
        Call::Read(_) => 6,
        Call::Project { .. } => 7,
        Call::Precondition { .. } => 8,
        Call::Stales { .. } => 9,
        Call::Decode { .. } => 10,
        Call::Push(_) => 11,
        Call::FreshRead(_) => 12,
        Call::Merge { .. } => 13,
        Call::Apply { .. } => 14,
        Call::ConfirmFresh { .. } => 15,
        Call::Clear(_) => 16,
        Call::MarkStale(_) => 17,
        Call::Invalidate(_) => 18,
        Call::Retire { .. } => 19,
    }
}

fn fields(to: &mut Writer, call: &Call) {
    match call {
        Call::Commit { transition, sequence, .. } => {
            to.text(transition.name()).long(sequence.unwrap_or(0));
        }
        Call::Sync => {}
        Call::Draw { window_ms } => drop(to.long(*window_ms)),
        Call::Resolve(key)
        | Call::Status(key)
        | Call::Read(key)
        | Call::FreshRead(key)
        | Call::Clear(key)
        | Call::MarkStale(key) => drop(to.identity(key)),
        Call::Project { key, mutator: named, base, .. } => {
            mutator(to.identity(key), named).presence(base);
        }
        Call::Precondition { key, base, mine, base_meta } => {
            to.identity(key).presence(base).presence(mine).meta(base_meta.as_ref());
        }
        Call::Stales { key, mutator: named, .. } => drop(mutator(to.identity(key), named)),
        Call::Decode { mutator: named, codec_version, base, mine, .. } => {
            mutator(to, named).int(*codec_version).presence(base).presence(mine);
        }
        Call::Push(request) => push(to, request),
        Call::Merge { key, codec_version, base, mine, theirs } => {
            to.identity(key).int(*codec_version).presence(base).presence(mine).presence(theirs);
        }
        Call::Apply { key, value, codec_version } => drop(to.identity(key).bytes(value).int(*codec_version)),
        Call::ConfirmFresh { key, etag } => drop(to.identity(key).text_or_none(etag.as_deref())),
        Call::Invalidate(namespace) => drop(to.text(namespace)),
        Call::Retire { through } => drop(to.long(*through)),
    }
}

fn mutator<'w>(to: &'w mut Writer, mutator: &Mutator) -> &'w mut Writer {
    to.text(&mutator.name).int(mutator.version).bytes(&mutator.args)
}

fn push(to: &mut Writer, request: &PushRequest) {
    to.identity(&request.key).text(&request.client).long(request.sequence).int(request.generation);
    to.long(request.retired_through).text(&request.idempotency_key).int(request.codec_version);
    to.presence(&request.base).presence(&request.mine).meta(request.base_meta.as_ref());
}

fn event(to: &mut Writer, event: &Event) {
    to.signed_long(event.at).long(event.sequence.unwrap_or(0)).identity_or_none(event.identity.as_ref());
    match &event.kind {
        EventKind::Enqueued { mutator } => drop(to.byte(1).text(mutator)),
        EventKind::Attempted { generation, attempt } => drop(to.byte(2).int(*generation).int(*attempt)),
        EventKind::ConflictObserved { generation, server } => {
            to.byte(3).int(*generation).meta(server.as_ref());
        }
        EventKind::Acknowledged { generation, present } => drop(to.byte(4).int(*generation).flag(*present)),
        EventKind::Adopted { generation, present } => drop(to.byte(5).int(*generation).flag(*present)),
        EventKind::EffectApplied { generation, index } => drop(to.byte(6).int(*generation).int(*index)),
        EventKind::EffectSkipped { generation, index } => drop(to.byte(7).int(*generation).int(*index)),
        EventKind::Failed { generation, state, failure } => {
            note(to.byte(8).int(*generation).text(state.name()), failure);
        }
        EventKind::Parked { generation, failure } => note(to.byte(9).int(*generation), failure),
        EventKind::Retired { generation, retired_through } => {
            to.byte(10).int(*generation).long(*retired_through);
        }
        EventKind::CheckpointConfirmed { requested, confirmed } => {
            to.byte(11).long(*requested).long(*confirmed);
        }
        EventKind::CheckpointFailed { requested, failure } => note(to.byte(12).long(*requested), failure),
    }
}

fn note(to: &mut Writer, note: &FailureNote) {
    to.text(note.kind.name()).text(&note.detail).text(&note.message).signed_long(note.occurred_at);
}
