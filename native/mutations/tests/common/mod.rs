//! A small application around a store: text values, a server that recognises what it has seen, a local map.

// Each test file is a crate of its own and uses what it needs.
#![allow(dead_code)]

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use parsley_mutations::{
    Accepted, BoxError, Builder, Cancellation, Clock, Codec, Identity, LocalState, Meta, MutationStore,
    MutatorHandle, Mutators, Push, PushOutcome, Resolution, Server,
};

/// Texts as their UTF-8 bytes.
#[derive(Clone, Copy)]
pub struct Texts;

impl Codec<String> for Texts {
    fn version(&self) -> u32 {
        1
    }

    fn encode(&self, value: &String) -> Result<Vec<u8>, BoxError> {
        Ok(value.clone().into_bytes())
    }

    fn decode(&self, _: u32, bytes: &[u8]) -> Result<String, BoxError> {
        Ok(String::from_utf8(bytes.to_vec())?)
    }
}

type Script = Box<dyn FnOnce(&Push<Identity, String>) -> Result<PushOutcome<String>, BoxError> + Send>;

/// Everything outside the journal; outlives the store.
#[derive(Default)]
pub struct World {
    pub local: Mutex<HashMap<Identity, String>>,
    /// Every transmission: identity, idempotency key, wanted value.
    pub pushes: Mutex<Vec<(Identity, String, Option<String>)>>,
    /// What the next pushes meet, before the server accepts.
    pub script: Mutex<VecDeque<Script>>,
    pub apply_fails: Mutex<Option<BoxError>>,
    pub now: AtomicI64,
}

#[derive(Clone, Default)]
pub struct Outside(pub Arc<World>);

impl Outside {
    pub fn next_push(
        &self,
        script: impl FnOnce(&Push<Identity, String>) -> Result<PushOutcome<String>, BoxError> + Send + 'static,
    ) {
        self.0.script.lock().unwrap().push_back(Box::new(script));
    }

    pub fn keys_pushed(&self) -> Vec<String> {
        self.0.pushes.lock().unwrap().iter().map(|(_, key, _)| key.clone()).collect()
    }
}

impl Server<Identity, String> for Outside {
    fn push(&self, push: Push<Identity, String>, _: &Cancellation) -> Result<PushOutcome<String>, BoxError> {
        let sent = (push.identity.clone(), push.idempotency_key.to_string(), push.mine.clone());
        self.0.pushes.lock().unwrap().push(sent);
        let script = self.0.script.lock().unwrap().pop_front();
        match script {
            Some(script) => script(&push),
            None => Ok(PushOutcome::Accepted(Accepted { value: push.mine, etag: None, target: None })),
        }
    }

    fn retire(&self, _: &str, through: u64, _: &Cancellation) -> Result<u64, BoxError> {
        Ok(through)
    }
}

impl LocalState<Identity, String> for Outside {
    fn status(&self, _: &Identity) -> Result<Option<Meta>, BoxError> {
        Ok(None)
    }

    fn read(&self, key: &Identity) -> Result<Option<String>, BoxError> {
        Ok(self.0.local.lock().unwrap().get(key).cloned())
    }

    fn fresh_read(&self, _: &Identity, _: &Cancellation) -> Result<(), BoxError> {
        Ok(())
    }

    fn apply(&self, key: &Identity, value: String) -> Result<(), BoxError> {
        if let Some(error) = self.0.apply_fails.lock().unwrap().take() {
            return Err(error);
        }
        self.0.local.lock().unwrap().insert(key.clone(), value);
        Ok(())
    }

    fn confirm_fresh(&self, _: &Identity, _: Option<&str>) -> Result<(), BoxError> {
        Ok(())
    }

    fn clear(&self, key: &Identity) -> Result<(), BoxError> {
        self.0.local.lock().unwrap().remove(key);
        Ok(())
    }

    fn mark_stale(&self, _: &Identity) -> Result<(), BoxError> {
        Ok(())
    }

    fn invalidate_namespace(&self, _: &str) -> Result<(), BoxError> {
        Ok(())
    }
}

impl Clock for Outside {
    fn now_ms(&self) -> i64 {
        self.0.now.load(Ordering::SeqCst)
    }
}

pub struct App {
    pub append: MutatorHandle<String>,
    pub delete: MutatorHandle<()>,
    pub builder: Builder<Identity, String>,
}

pub fn app(outside: &Outside) -> App {
    let mut mutators = Mutators::new();
    let append = mutators
        .upsert("append", Texts, |base: Option<String>, args: &String| Ok(base.unwrap_or_default() + args))
        .unwrap();
    let delete = mutators.delete("delete").unwrap();
    let builder = MutationStore::builder(
        "client",
        |identity: &Identity| Resolution::Key(identity.clone()),
        Texts,
        outside.clone(),
        outside.clone(),
    )
    .mutators(mutators)
    .clock(outside.clone())
    .jitter(|window_ms| window_ms);
    App { append, delete, builder }
}

pub fn key(id: &str) -> Identity {
    Identity::new("n", id)
}
