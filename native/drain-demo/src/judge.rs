//! What the server's log says about loss, repetition and order.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::Play;
use crate::server::Log;

/// Prints the table and the last line; false if anything was lost, doubled or out of order.
pub(crate) fn judge(play: Play, log: &Log, dead_letters: u64, killed: u64, took: Duration) -> bool {
    let mut numbers = HashSet::new();
    let mut duplicated = 0;
    let mut out_of_order = 0;
    let mut newest: HashMap<&str, u64> = HashMap::new();
    for applied in &log.applied {
        if !numbers.insert(applied.number) {
            duplicated += 1;
        }
        let before = newest.insert(&applied.identity, applied.sequence);
        if before.is_some_and(|before| before >= applied.sequence) {
            out_of_order += 1;
        }
    }
    let effective = numbers.len() as u64;
    // What the server rejected is a dead letter: known, listed, and in nobody's way.
    let lost = play.mutations.saturating_sub(effective + dead_letters);
    // The same key with other bytes would be another mutation in the disguise of the first.
    duplicated += log.changed;

    println!("kills                       {killed:>7}");
    println!("answers lost after applying {:>7}", log.lost_answers);
    println!("failed before applying      {:>7}", log.failures);
    println!("conflicts                   {:>7}", log.conflicted);
    println!("rejected, now dead letters  {dead_letters:>7}");
    println!("slow                        {:>7}", log.slow);
    println!("pushes recognised           {:>7}", log.repeated);
    println!("seconds                     {:>7}", took.as_secs());
    println!(
        "RESULT sent={} effective={effective} lost={lost} duplicated={duplicated} out-of-order={out_of_order}",
        play.mutations
    );
    lost == 0 && duplicated == 0 && out_of_order == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Applied;

    fn verdict(applied: &[(&str, u64, u64)], dead_letters: u64) -> bool {
        let applied = applied
            .iter()
            .map(|(identity, sequence, number)| Applied {
                identity: (*identity).to_owned(),
                sequence: *sequence,
                number: *number,
            })
            .collect();
        let log = Log { applied, ..Log::default() };
        let play = Play { seed: 1, mutations: 2, namespaces: 1, kills: 0 };
        judge(play, &log, dead_letters, 0, Duration::ZERO)
    }

    #[test]
    fn each_wrong_is_told() {
        assert!(verdict(&[("a", 1, 0), ("a", 2, 1)], 0));
        assert!(verdict(&[("a", 1, 0)], 1), "a dead letter is not lost");
        assert!(!verdict(&[("a", 1, 0)], 0), "lost");
        assert!(!verdict(&[("a", 1, 0), ("a", 2, 1), ("a", 3, 1)], 0), "duplicated");
        assert!(!verdict(&[("a", 2, 1), ("a", 1, 0)], 0), "out of order");
        assert!(verdict(&[("b", 2, 1), ("a", 1, 0)], 0), "there is no order between keys");
    }
}
