//! The other side: an HTTP server on a real socket that applies a push once for each mutation, and answers badly by seed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use tiny_http::{Request, Response};

use crate::Play;

/// Threads that answer.
const WORKERS: usize = 8;

/// One thing that the server did.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) identity: String,
    /// The mutation's sequence, from its idempotency key.
    pub(crate) sequence: u64,
    /// What the client numbered it, from 0.
    pub(crate) number: u64,
}

/// All that the server did, and how it answered.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) applied: Vec<Applied>,
    /// The answer to each idempotency key that was settled.
    pub(crate) answers: HashMap<String, (u16, String)>,
    /// What was sent under each idempotency key.
    pub(crate) sent: HashMap<String, String>,
    pub(crate) conflicts: HashMap<String, u64>,
    /// Transmissions of a key with other bytes than the first one.
    pub(crate) changed: u64,
    pub(crate) repeated: u64,
    pub(crate) lost_answers: u64,
    pub(crate) failures: u64,
    pub(crate) conflicted: u64,
    pub(crate) rejected: u64,
    pub(crate) slow: u64,
}

struct Shared {
    log: Mutex<Log>,
    random: Mutex<fastrand::Rng>,
    seen: AtomicU64,
    applied: AtomicU64,
    news: (Mutex<()>, Condvar),
}

/// A running server.
pub(crate) struct Server {
    http: Arc<tiny_http::Server>,
    address: String,
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// What happens to one push.
enum Fate {
    Answer,
    LoseAnswer,
    Fail,
    Conflict,
    Reject,
    Slow,
}

impl Server {
    /// Listens on a free port of this machine.
    pub(crate) fn start(play: Play) -> Result<Self, Box<dyn std::error::Error>> {
        let http = Arc::new(tiny_http::Server::http("127.0.0.1:0").map_err(|error| error.to_string())?);
        let address = http.server_addr().to_string();
        let shared = Arc::new(Shared {
            log: Mutex::default(),
            random: Mutex::new(fastrand::Rng::with_seed(play.seed ^ 0x5EED)),
            seen: AtomicU64::new(0),
            applied: AtomicU64::new(0),
            news: (Mutex::new(()), Condvar::new()),
        });
        let workers = (0..WORKERS)
            .map(|_| {
                let (http, shared) = (http.clone(), shared.clone());
                thread::spawn(move || {
                    while let Ok(request) = http.recv() {
                        shared.serve(request);
                    }
                })
            })
            .collect();
        Ok(Self { http, address, shared, workers })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Pushes that came, repetitions included.
    pub(crate) fn seen(&self) -> &AtomicU64 {
        &self.shared.seen
    }

    /// Pushes that had an effect.
    pub(crate) fn applied(&self) -> &AtomicU64 {
        &self.shared.applied
    }

    /// Waits for the next push, at most so long.
    pub(crate) fn wait_for_news(&self, at_most: Duration) {
        let (lock, news) = &self.shared.news;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(news.wait_timeout(guard, at_most));
    }

    /// Stops, and gives what was done.
    pub(crate) fn stop(self) -> Log {
        for _ in &self.workers {
            self.http.unblock();
        }
        for worker in self.workers {
            // A worker that panicked has said so; the judge will miss what it did not do.
            let _ = worker.join();
        }
        std::mem::take(&mut self.shared.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    fn serve(&self, mut request: Request) {
        let mut body = String::new();
        if request.as_reader().read_to_string(&mut body).is_err() {
            return;
        }
        if request.url().starts_with("/retire") {
            let _ = request.respond(Response::from_string(body));
            return;
        }
        self.seen.fetch_add(1, Ordering::SeqCst);
        self.news.1.notify_all();
        let fate = self.fate();
        if matches!(fate, Fate::Slow) {
            thread::park_timeout(Duration::from_millis(30));
        }
        let Some((status, answer)) = self.push(&body, &fate) else {
            // The connection is dropped without an answer: the client can't know.
            drop(request.into_writer());
            return;
        };
        // A client that was killed meanwhile gets no answer, which is what the demo is about.
        let _ = request.respond(Response::from_string(answer).with_status_code(status));
    }

    fn fate(&self) -> Fate {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        match random.u32(0..1000) {
            0..20 => Fate::LoseAnswer,
            20..40 => Fate::Fail,
            40..60 => Fate::Conflict,
            60..62 => Fate::Reject,
            62..80 => Fate::Slow,
            _ => Fate::Answer,
        }
    }

    fn push(&self, body: &str, fate: &Fate) -> Option<(u16, String)> {
        let push: Value = serde_json::from_str(body).ok()?;
        let key = push["idempotencyKey"].as_str()?.to_owned();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let first = log.sent.entry(key.clone()).or_insert_with(|| body.to_owned());
        if first != body {
            log.changed += 1;
        }
        if let Some(answer) = log.answers.get(&key).cloned() {
            log.repeated += 1;
            return match fate {
                Fate::LoseAnswer => {
                    log.lost_answers += 1;
                    None
                }
                _ => Some(answer),
            };
        }
        let answer = match fate {
            Fate::Fail => {
                log.failures += 1;
                return Some((503, "busy".to_owned()));
            }
            Fate::Conflict => {
                log.conflicted += 1;
                let identity = push["identity"].as_str()?.to_owned();
                let version = log.conflicts.entry(identity).or_default();
                *version += 1;
                (409, json!({"etag": format!("v{version}")}).to_string())
            }
            Fate::Reject => {
                log.rejected += 1;
                (422, "will never do".to_owned())
            }
            Fate::Answer | Fate::LoseAnswer | Fate::Slow => {
                if matches!(fate, Fate::Slow) {
                    log.slow += 1;
                }
                let applied = Applied {
                    identity: push["identity"].as_str()?.to_owned(),
                    sequence: push["sequence"].as_u64()?,
                    number: push["number"].as_u64()?,
                };
                log.applied.push(applied);
                self.applied.fetch_add(1, Ordering::SeqCst);
                (200, String::new())
            }
        };
        log.answers.insert(key, answer.clone());
        if matches!(fate, Fate::LoseAnswer) {
            log.lost_answers += 1;
            return None;
        }
        Some(answer)
    }
}
