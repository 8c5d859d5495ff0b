//! The application's mutators by name: pure functions from a base and arguments to what is wanted.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::{BoxError, Error};
use crate::ports::Codec;

/// What a mutator wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection<V> {
    /// This value.
    Value(V),
    /// No value.
    Absent,
    /// Nothing, as long as the base is what it is: the mutation waits, and so does what comes behind it.
    Decline,
}

/// What else becomes stale when a mutation is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stales<K> {
    /// Keys.
    pub keys: Vec<K>,
    /// Whole namespaces.
    pub namespaces: Vec<String>,
}

impl<K> Default for Stales<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), namespaces: Vec::new() }
    }
}

/// A registered mutator, to be named when a mutation is made.
pub struct MutatorHandle<A> {
    pub(crate) name: Arc<str>,
    pub(crate) codec: Arc<dyn Codec<A>>,
}

impl<A> Clone for MutatorHandle<A> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), codec: self.codec.clone() }
    }
}

/// A mutator whose arguments are bytes.
pub(crate) trait Erased<K, V>: Send + Sync {
    fn project(
        &self,
        version: u32,
        args: &[u8],
        key: &K,
        base: Option<V>,
    ) -> Result<Projection<V>, MutatorError>;
    fn stales(&self, version: u32, args: &[u8], key: &K) -> Result<Stales<K>, MutatorError>;
    fn check(&self, version: u32, args: &[u8]) -> Result<(), MutatorError>;
}

pub(crate) enum MutatorError {
    Args(BoxError),
    Threw(BoxError),
}

type ProjectFn<V, A> = Box<dyn Fn(Option<V>, &A) -> Result<Projection<V>, BoxError> + Send + Sync>;
type StalesFn<K, A> = Box<dyn Fn(&K, &A) -> Result<Stales<K>, BoxError> + Send + Sync>;

struct Typed<K, V, A> {
    codec: Arc<dyn Codec<A>>,
    project: ProjectFn<V, A>,
    stales: StalesFn<K, A>,
    key: PhantomData<fn(&K)>,
}

impl<K: 'static, V: 'static, A: 'static> Erased<K, V> for Typed<K, V, A> {
    fn project(
        &self,
        version: u32,
        args: &[u8],
        _: &K,
        base: Option<V>,
    ) -> Result<Projection<V>, MutatorError> {
        let args = self.codec.decode(version, args).map_err(MutatorError::Args)?;
        (self.project)(base, &args).map_err(MutatorError::Threw)
    }

    fn stales(&self, version: u32, args: &[u8], key: &K) -> Result<Stales<K>, MutatorError> {
        let args = self.codec.decode(version, args).map_err(MutatorError::Args)?;
        (self.stales)(key, &args).map_err(MutatorError::Threw)
    }

    fn check(&self, version: u32, args: &[u8]) -> Result<(), MutatorError> {
        self.codec.decode(version, args).map(|_| ()).map_err(MutatorError::Args)
    }
}

/// The mutators of a store. A name means the same function for as long as a journal holds mutations of it.
pub struct Mutators<K, V>(pub(crate) HashMap<Arc<str>, Box<dyn Erased<K, V>>>);

impl<K, V> Default for Mutators<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: 'static, V: 'static> Mutators<K, V> {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A mutator in its general form.
    pub fn add<A: 'static>(
        &mut self,
        name: &str,
        codec: impl Codec<A> + 'static,
        project: impl Fn(Option<V>, &A) -> Result<Projection<V>, BoxError> + Send + Sync + 'static,
        stales: impl Fn(&K, &A) -> Result<Stales<K>, BoxError> + Send + Sync + 'static,
    ) -> Result<MutatorHandle<A>, Error> {
        let name: Arc<str> = name.into();
        if name.is_empty() || self.0.contains_key(&name) {
            return Err(Error::Configuration(format!("mutator name '{name}' is empty or taken")));
        }
        let codec: Arc<dyn Codec<A>> = Arc::new(codec);
        let typed = Typed {
            codec: codec.clone(),
            project: Box::new(project),
            stales: Box::new(stales),
            key: PhantomData,
        };
        self.0.insert(name.clone(), Box::new(typed));
        Ok(MutatorHandle { name, codec })
    }

    /// Writes a value whatever the base is.
    pub fn create<A: 'static>(
        &mut self,
        name: &str,
        codec: impl Codec<A> + 'static,
        project: impl Fn(&A) -> Result<V, BoxError> + Send + Sync + 'static,
    ) -> Result<MutatorHandle<A>, Error> {
        self.add(name, codec, move |_, args| project(args).map(Projection::Value), no_stales)
    }

    /// Changes a value that is there; declines while there is none.
    pub fn update<A: 'static>(
        &mut self,
        name: &str,
        codec: impl Codec<A> + 'static,
        project: impl Fn(V, &A) -> Result<V, BoxError> + Send + Sync + 'static,
    ) -> Result<MutatorHandle<A>, Error> {
        let project = move |base: Option<V>, args: &A| match base {
            Some(base) => project(base, args).map(Projection::Value),
            None => Ok(Projection::Decline),
        };
        self.add(name, codec, project, no_stales)
    }

    /// Changes a value, or makes one.
    pub fn upsert<A: 'static>(
        &mut self,
        name: &str,
        codec: impl Codec<A> + 'static,
        project: impl Fn(Option<V>, &A) -> Result<V, BoxError> + Send + Sync + 'static,
    ) -> Result<MutatorHandle<A>, Error> {
        self.add(name, codec, move |base, args| project(base, args).map(Projection::Value), no_stales)
    }

    /// Deletes. Its arguments are no bytes at all, in version 1.
    pub fn delete(&mut self, name: &str) -> Result<MutatorHandle<()>, Error> {
        self.add(name, NoArguments, |_, ()| Ok(Projection::Absent), no_stales)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "has the form of what a mutator gives")]
fn no_stales<K, A>(_: &K, _: &A) -> Result<Stales<K>, BoxError> {
    Ok(Stales::default())
}

struct NoArguments;

impl Codec<()> for NoArguments {
    fn version(&self) -> u32 {
        1
    }

    fn encode(&self, (): &()) -> Result<Vec<u8>, BoxError> {
        Ok(Vec::new())
    }

    fn decode(&self, version: u32, bytes: &[u8]) -> Result<(), BoxError> {
        match (version, bytes) {
            (1, []) => Ok(()),
            _ => Err(format!(
                "a deletion has no arguments, these are {} bytes of version {version}",
                bytes.len()
            )
            .into()),
        }
    }
}
