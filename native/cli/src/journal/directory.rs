//! A journal's directory, shown as tables for people or as JSON for programs.

use std::io::{self, Write};
use std::path::Path;

use parsley_mutations::{DeadLetter, Error, JournalDirectory, LaneRow, PendingRow, Stall};
use serde_json::{Value, json};

use super::print::identity;

/// What is to be done with a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    /// The client, the lanes, and what waits.
    Ls,
    /// All rows of one mutation, or of all.
    Show(Option<u64>),
    /// The dead letters.
    Dead,
    /// Repeat a dead letter.
    Retry(u64),
    /// Dismiss a row.
    Discard { sequence: u64, why: &'a str },
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Journal(#[from] Error),
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Does a command.
pub(crate) fn run(
    directory: &Path,
    command: &Command<'_>,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match command {
        Command::Ls => ls(&JournalDirectory::look_at(directory)?, json, out),
        Command::Show(sequence) => show(&JournalDirectory::look_at(directory)?, *sequence, out),
        Command::Dead => dead(&JournalDirectory::look_at(directory)?.dead_letters()?, json, out),
        Command::Retry(sequence) => {
            let new = JournalDirectory::open(directory)?.retry(*sequence)?;
            let line = json!({"event": "retried", "sequence": new});
            tell(json, &line, &format!("mutation {sequence} is retried as {new}"), out)
        }
        Command::Discard { sequence, why } => {
            let refresh = JournalDirectory::open(directory)?.discard(*sequence, why)?;
            let line = json!({
                "event": "discarded",
                "sequence": sequence,
                "refresh": refresh.as_ref().map(identity),
            });
            let then = refresh.map_or_else(String::new, |key| {
                format!("; the server's answer was not adopted, so read {key} afresh")
            });
            tell(json, &line, &format!("mutation {sequence} is discarded{then}"), out)
        }
    }
}

fn tell(json: bool, line: &Value, words: &str, out: &mut impl Write) -> Result<(), Failure> {
    if json {
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "{words}")?;
    }
    Ok(())
}

fn ls(journal: &JournalDirectory, json: bool, out: &mut impl Write) -> Result<(), Failure> {
    let client = journal.client();
    let lanes = journal.lanes()?;
    let pending = journal.pending_writes()?;
    let dead = journal.dead_letters()?.len();
    if json {
        let client = client.map(|client| {
            json!({
                "client": &*client.id,
                "epoch": format!("{:016x}", client.epoch),
                "allocated": client.allocated,
                "retired": client.retired_through,
                "confirmed": client.confirmed_through,
            })
        });
        let line = json!({
            "event": "ls",
            "client": client,
            "deadLetters": dead,
            "lanes": lanes.iter().map(lane_json).collect::<Vec<_>>(),
            "pending": pending.iter().map(pending_json).collect::<Vec<_>>(),
        });
        writeln!(out, "{line}")?;
        return Ok(());
    }
    let Some(client) = client else {
        writeln!(out, "The journal is empty: nothing was ever accepted.")?;
        return Ok(());
    };
    writeln!(
        out,
        "client {}: {} accepted, settled through {}, confirmed by the server through {}; {} pending, {dead} dead letters",
        client.id,
        client.allocated,
        client.retired_through,
        client.confirmed_through,
        pending.len()
    )?;
    if !lanes.is_empty() {
        writeln!(out)?;
        let rows = lanes.iter().map(lane_cells);
        table(&["LANE", "PENDING", "OLDEST", "OWNER", "STATE", "ATTEMPTS", "ELIGIBLE BY"], rows, out)?;
    }
    if !pending.is_empty() {
        writeln!(out)?;
        let rows = pending.iter().map(|row| {
            vec![
                row.sequence.to_string(),
                row.key.to_string(),
                row.mutator.to_string(),
                row.state.to_string(),
                row.attempt.to_string(),
                row.created_at.to_string(),
            ]
        });
        table(&["SEQUENCE", "KEY", "MUTATOR", "STATE", "ATTEMPT", "CREATED AT"], rows, out)?;
    }
    Ok(())
}

fn lane_json(lane: &LaneRow) -> Value {
    let owner = lane.owner.as_ref().map(|owner| {
        json!({
            "sequence": owner.sequence,
            "state": owner.state.name(),
            "attempts": owner.attempts,
            "eligibleBy": owner.eligible_by,
        })
    });
    json!({
        "namespace": &*lane.namespace,
        "pending": lane.pending,
        "oldestCreatedAt": lane.oldest_created_at,
        "owner": owner,
    })
}

fn lane_cells(lane: &LaneRow) -> Vec<String> {
    let mut cells =
        vec![lane.namespace.to_string(), lane.pending.to_string(), lane.oldest_created_at.to_string()];
    match &lane.owner {
        None => cells.extend(["-"; 4].map(str::to_owned)),
        Some(owner) => cells.extend([
            owner.sequence.to_string(),
            owner.state.to_string(),
            owner.attempts.to_string(),
            owner.eligible_by.map_or_else(|| "now".to_owned(), |at| at.to_string()),
        ]),
    }
    cells
}

fn pending_json(row: &PendingRow) -> Value {
    json!({
        "key": identity(&row.key),
        "sequence": row.sequence,
        "mutator": &*row.mutator,
        "state": row.state.name(),
        "attempt": row.attempt,
        "createdAt": row.created_at,
        "reason": row.stall.map(Stall::name),
    })
}

fn dead(letters: &[DeadLetter], json: bool, out: &mut impl Write) -> Result<(), Failure> {
    if json {
        writeln!(out, "{}", super::print::dead_letters(letters))?;
        return Ok(());
    }
    if letters.is_empty() {
        writeln!(out, "There are no dead letters.")?;
        return Ok(());
    }
    let rows = letters.iter().map(|letter| {
        vec![
            letter.sequence.to_string(),
            letter.key.to_string(),
            letter.mutator.to_string(),
            format!("{}/{}", letter.failure.kind, letter.failure.detail),
            letter.attempts.to_string(),
            if letter.remote_outcome_unknown { "maybe" } else { "no" }.to_owned(),
            letter.failure.message.to_string(),
        ]
    });
    table(&["SEQUENCE", "KEY", "MUTATOR", "WHY", "ATTEMPTS", "APPLIED", "MESSAGE"], rows, out)
}

/// Rows are shown as JSON in either form: they are the journal's own, for who wants to know exactly.
fn show(journal: &JournalDirectory, sequence: Option<u64>, out: &mut impl Write) -> Result<(), Failure> {
    let mut dump = journal.dump()?;
    if let Some(sequence) = sequence {
        dump.intents.retain(|(it, _)| *it == sequence);
        if dump.intents.is_empty() {
            return Err(Error::WrongRow(format!("there is no mutation {sequence} in the journal")).into());
        }
        dump.executions.retain(|(it, _)| *it == sequence);
        dump.attempts.retain(|(it, _, _)| *it == sequence);
        dump.failures.retain(|(_, it, _)| *it == sequence);
        dump.effects.retain(|(it, _, _)| *it == sequence);
        dump.aliases.retain(|(_, alias)| alias.created_by == sequence);
        dump.tombstones.retain(|(_, creator, _)| *creator == sequence);
    }
    writeln!(out, "{}", super::print::journal(&dump))?;
    Ok(())
}

/// Prints columns as wide as their widest cell.
fn table(
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut lines = vec![head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>()];
    lines.extend(rows);
    let widths: Vec<usize> = (0..head.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    for line in lines {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}
