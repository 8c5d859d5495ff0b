//! Rows as they cross the boundary: repeated `int32 keyLength, key, int32 valueLength or -1 for null, value`, integers
//! big-endian. And the cursor with which everything that comes from Java is read: no length is believed before it is
//! checked against the bytes that are left.

use bytes::Bytes;

/// Bytes that are not what the native method's contract says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed argument at byte {at}: {what}")]
pub(crate) struct Malformed {
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

/// A row, its value `None` where it is deleted.
pub(crate) type Row = (Bytes, Option<Bytes>);

/// Reads from the front of a buffer; what it gives shares the buffer.
pub(crate) struct Cursor {
    bytes: Bytes,
    at: usize,
}

impl Cursor {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<Bytes, Malformed> {
        if count > self.bytes.len() - self.at {
            return Err(self.malformed("cut short"));
        }
        let taken = self.bytes.slice(self.at..self.at + count);
        self.at += count;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let array =
            self.bytes[self.at..].first_chunk().copied().ok_or_else(|| self.malformed("cut short"))?;
        self.at += N;
        Ok(array)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    /// What follows an int32 length.
    pub(crate) fn sized(&mut self) -> Result<Bytes, Malformed> {
        let length = usize::try_from(self.i32()?).map_err(|_| self.malformed("a negative length"))?;
        self.take(length)
    }

    /// What follows an int32 length, or `None` for the length -1.
    pub(crate) fn sized_or_null(&mut self) -> Result<Option<Bytes>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| self.malformed("a negative length"))?;
                self.take(length).map(Some)
            }
        }
    }
}

/// Reads packed rows to the end, so that malformed ones change nothing.
pub(crate) fn unpack(bytes: Bytes) -> Result<Vec<Row>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut rows = Vec::new();
    while !cursor.is_at_end() {
        rows.push((cursor.sized()?, cursor.sized_or_null()?));
    }
    Ok(rows)
}

/// Appends a row.
///
/// # Panics
/// If key or value is longer than a Java array can be; neither comes from anywhere else.
pub(crate) fn pack(rows: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    pack_sized(rows, key);
    match value {
        Some(value) => pack_sized(rows, value),
        None => rows.extend_from_slice(&(-1_i32).to_be_bytes()),
    }
}

fn pack_sized(rows: &mut Vec<u8>, bytes: &[u8]) {
    let length = i32::try_from(bytes.len()).expect("no longer than a Java array");
    rows.extend_from_slice(&length.to_be_bytes());
    rows.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        vec![
            (Bytes::from_static(b"v"), Some(Bytes::from_static(b"\x02"))),
            (Bytes::from_static(b""), Some(Bytes::new())),
            (Bytes::from_static(b"gone"), None),
        ]
    }

    fn packed() -> Vec<u8> {
        let mut packed = Vec::new();
        for (key, value) in rows() {
            pack(&mut packed, &key, value.as_deref());
        }
        packed
    }

    #[test]
    fn golden_rows() {
        let expected = b"\0\0\0\x01v\0\0\0\x01\x02\0\0\0\0\0\0\0\0\0\0\0\x04gone\xff\xff\xff\xff";
        assert_eq!(packed(), expected);
    }

    #[test]
    fn packed_rows_read_back() {
        assert_eq!(unpack(packed().into()), Ok(rows()));
        assert_eq!(unpack(Bytes::new()), Ok(Vec::new()));
    }

    #[test]
    fn every_cut_inside_a_row_is_malformed() {
        let whole = packed();
        let ends = [0, 10, 18, whole.len()];
        for cut in (0..whole.len()).filter(|cut| !ends.contains(cut)) {
            assert!(unpack(Bytes::copy_from_slice(&whole[..cut])).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn a_length_is_not_believed() {
        for lengths in [[i32::MAX, 0], [0, i32::MAX], [-1, 0], [0, -2], [i32::MIN, 0], [0, i32::MIN]] {
            let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_be_bytes()).collect();
            assert!(unpack(bytes.into()).is_err(), "{lengths:?}");
        }
    }
}
