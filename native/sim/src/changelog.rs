//! The changelog of one ordering store, as the broker keeps it.

use std::collections::BTreeMap;

use bytes::Bytes;

/// A changed row; `None` is a tombstone.
pub(crate) type Row = (Bytes, Option<Bytes>);

/// Committed records of one compacted changelog partition, and what they amount to.
#[derive(Debug, Default)]
pub(crate) struct Changelog {
    /// Ascending by offset; compaction takes some out.
    records: Vec<(i64, Row)>,
    /// What all records ever committed amount to, whatever compaction did.
    rows: BTreeMap<Bytes, Bytes>,
    end: i64,
    last: Option<i64>,
}

impl Changelog {
    /// A transaction's rows, and its marker.
    pub(crate) fn commit(&mut self, rows: Vec<Row>) {
        if rows.is_empty() {
            return;
        }
        for (key, value) in rows {
            match &value {
                Some(value) => self.rows.insert(key.clone(), value.clone()),
                None => self.rows.remove(&key),
            };
            self.last = Some(self.end);
            self.records.push((self.end, (key, value)));
            self.end += 1;
        }
        self.end += 1;
    }

    /// Rows that no reader sees, which take offsets all the same.
    pub(crate) fn abort(&mut self, rows: usize) {
        if rows > 0 {
            self.end += i64::try_from(rows).expect("few rows") + 1;
        }
    }

    /// Offset of the last committed record.
    pub(crate) fn last(&self) -> Option<i64> {
        self.last
    }

    /// Records above an offset.
    pub(crate) fn after(&self, offset: Option<i64>) -> impl Iterator<Item = Row> + '_ {
        let seen = move |(at, _): &&(i64, Row)| offset.is_some_and(|offset| *at <= offset);
        self.records.iter().skip_while(seen).map(|(_, row)| row.clone())
    }

    /// What a store that has everything must hold.
    pub(crate) fn rows(&self) -> &BTreeMap<Bytes, Bytes> {
        &self.rows
    }

    /// Takes out what newer records of the same key replaced, and tombstones that no store needs: those at or below
    /// `tombstones_up_to`; with `None` there is no store that could come back without having seen them.
    pub(crate) fn compact(&mut self, tombstones_up_to: Option<i64>) {
        let mut newest = BTreeMap::new();
        for (offset, (key, _)) in &self.records {
            newest.insert(key.clone(), *offset);
        }
        self.records.retain(|(offset, (key, value))| {
            let replaced = newest.get(key).is_some_and(|newest| newest > offset);
            let needless = value.is_none() && tombstones_up_to.is_none_or(|seen| *offset <= seen);
            !replaced && !needless
        });
    }
}
