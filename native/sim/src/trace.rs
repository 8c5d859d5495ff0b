//! What a run tells: lines for people, where they are asked for, and a digest that two runs can be compared by.

/// The story of one run.
#[derive(Debug)]
pub struct Trace {
    lines: Option<Vec<String>>,
    digest: u64,
}

impl Trace {
    /// Nothing has happened. Keeps its lines only if asked to.
    pub fn new(with_lines: bool) -> Self {
        Self { lines: with_lines.then(Vec::new), digest: 0xcbf2_9ce4_8422_2325 }
    }

    /// Tells one event: the numbers that it is made of, and its words.
    pub fn tell(&mut self, kind: char, numbers: [usize; 2], words: impl FnOnce() -> String) {
        for number in [u64::from(u32::from(kind)), numbers[0] as u64, numbers[1] as u64] {
            self.digest = (self.digest ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
        if let Some(lines) = &mut self.lines {
            lines.push(words());
        }
    }

    /// Words without an event.
    pub fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(words());
        }
    }

    /// The lines told, none if they were not asked for, and the digest of the events.
    pub fn end(self) -> (Vec<String>, u64) {
        (self.lines.unwrap_or_default(), self.digest)
    }
}
