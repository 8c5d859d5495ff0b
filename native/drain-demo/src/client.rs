//! The side that is killed: journals its mutations, and drains until nothing is left.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use parsley_mutations::scheduler::{Coordinator, PassOutcome, Registering, SchedulerEvent, ThreadAlarm};
use parsley_mutations::{
    Accepted, BoxError, Cancellation, Codec, Identity, JournalDirectory, LocalState, Merge, MergePolicy,
    Meta, MutationStore, Mutators, Push, PushOutcome, Resolution, RocksStorage, Server,
};
use serde_json::{Value, json};

/// An answer that takes longer is taken for lost.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// A mutation's number, which is also the value that it wants.
struct Numbers;

impl Codec<u64> for Numbers {
    fn version(&self) -> u32 {
        1
    }

    fn encode(&self, value: &u64) -> Result<Vec<u8>, BoxError> {
        Ok(value.to_be_bytes().to_vec())
    }

    fn decode(&self, version: u32, bytes: &[u8]) -> Result<u64, BoxError> {
        match (version, bytes.try_into()) {
            (1, Ok(bytes)) => Ok(u64::from_be_bytes(bytes)),
            _ => Err(format!("{} bytes of version {version} are no number", bytes.len()).into()),
        }
    }
}

/// The server, as the client reaches it.
struct Http {
    agent: ureq::Agent,
    address: String,
}

impl Http {
    fn post(&self, path: &str, body: &str) -> Result<(u16, String), BoxError> {
        let mut response = self.agent.post(format!("http://{}{path}", self.address)).send(body)?;
        let status = response.status().as_u16();
        Ok((status, response.body_mut().read_to_string()?))
    }
}

impl Server<Identity, u64> for Http {
    fn push(&self, push: Push<Identity, u64>, _: &Cancellation) -> Result<PushOutcome<u64>, BoxError> {
        let body = json!({
            "identity": push.identity.to_string(),
            "sequence": push.sequence,
            "idempotencyKey": &*push.idempotency_key,
            "number": push.mine,
            "base": push.base,
            "etag": push.base_meta.and_then(|meta| meta.etag).as_deref(),
        });
        match self.post("/push", &body.to_string())? {
            (200, _) => Ok(PushOutcome::Accepted(Accepted { value: push.mine, etag: None, target: None })),
            (409, answer) => {
                let answer: Value = serde_json::from_str(&answer)?;
                let etag = answer["etag"].as_str().map(Into::into);
                Ok(PushOutcome::Conflict(Some(Meta { written_at: None, etag })))
            }
            (422, why) => Ok(PushOutcome::Rejected(why)),
            (status, why) => Err(format!("status {status}: {why}").into()),
        }
    }

    fn retire(&self, _: &str, through: u64, _: &Cancellation) -> Result<u64, BoxError> {
        let (_, answer) = self.post("/retire", &through.to_string())?;
        Ok(answer.parse()?)
    }
}

/// A client that keeps nothing but its journal.
struct Nothing;

impl LocalState<Identity, u64> for Nothing {
    fn status(&self, _: &Identity) -> Result<Option<Meta>, BoxError> {
        Ok(None)
    }

    fn read(&self, _: &Identity) -> Result<Option<u64>, BoxError> {
        Ok(None)
    }

    fn fresh_read(&self, _: &Identity, _: &Cancellation) -> Result<(), BoxError> {
        Ok(())
    }

    fn apply(&self, _: &Identity, _: u64) -> Result<(), BoxError> {
        Ok(())
    }

    fn confirm_fresh(&self, _: &Identity, _: Option<&str>) -> Result<(), BoxError> {
        Ok(())
    }

    fn clear(&self, _: &Identity) -> Result<(), BoxError> {
        Ok(())
    }

    fn mark_stale(&self, _: &Identity) -> Result<(), BoxError> {
        Ok(())
    }

    fn invalidate_namespace(&self, _: &str) -> Result<(), BoxError> {
        Ok(())
    }
}

/// After a conflict the same number is pushed again, on the fresh base.
struct MineAgain;

impl MergePolicy<Identity, u64> for MineAgain {
    fn merge(
        &self,
        _: &Identity,
        _: Option<u64>,
        mine: Option<u64>,
        _: Option<u64>,
    ) -> Result<Merge<u64>, BoxError> {
        Ok(Merge::Retry(mine))
    }
}

/// `client ADDRESS DIRECTORY MUTATIONS NAMESPACES`
pub(crate) fn main(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [address, directory, mutations, namespaces] = arguments else {
        return Err("client ADDRESS DIRECTORY MUTATIONS NAMESPACES".into());
    };
    let (mutations, namespaces): (u64, u64) = (mutations.parse()?, namespaces.parse()?);
    let mut mutators = Mutators::new();
    let set = mutators.create("set", Numbers, |number: &u64| Ok(*number))?;
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(ANSWER_TIMEOUT))
        .build()
        .new_agent();
    let store = MutationStore::builder(
        "drain-demo",
        |identity: &Identity| Resolution::Key(identity.clone()),
        Numbers,
        Http { agent, address: address.clone() },
        Nothing,
    )
    .mutators(mutators)
    .merge(MineAgain)
    .lanes(8)
    .storage(RocksStorage::open(Path::new(directory))?)
    .open()?;

    let coordinator = Coordinator::new(ThreadAlarm::new()?);
    let how = Registering { policy: quick(), ..Registering::default() };
    coordinator.register("demo", store.clone(), how)?;
    let events = coordinator.events();
    let _watch = coordinator.watch("demo")?;

    // What was journaled before a kill is there again, and the numbers go on behind it.
    let journaled = store.dump()?.client.map_or(0, |client| client.allocated);
    for number in journaled..mutations {
        let identity = Identity::new(
            format!("namespace-{}", number % namespaces),
            format!("key-{}", number / namespaces % 10),
        );
        store.mutate(&identity, &set, &number)?;
    }
    let mut outcome = coordinator.pass("demo", &Cancellation::new())?;
    while outcome != PassOutcome::Cleared {
        // The alarm runs the next pass; this only waits for its end.
        if let Some(SchedulerEvent::PassEnded { outcome: ended, .. }) = events.next(Duration::from_mins(1)) {
            outcome = ended;
        }
        if !store.pending_writes()?.is_empty() {
            outcome = PassOutcome::Remaining { count: 0, delay: None };
        }
    }
    Ok(())
}

/// Tries again as soon as the engine's own backoff may let it: a demo has no half minute.
fn quick() -> parsley_mutations::scheduler::Policy {
    parsley_mutations::scheduler::Policy {
        delay_first: Duration::from_millis(100),
        multiplier: 1.5,
        delay_max: Duration::from_secs(1),
    }
}

/// How many mutations the server rejected for good.
pub(crate) fn dead_letters(directory: &Path) -> Result<u64, Box<dyn Error>> {
    Ok(JournalDirectory::look_at(directory)?.dead_letters()?.len() as u64)
}
