//! Rows as they cross the boundary: repeated `int32 keyLength, key, int32 valueLength or -1 for null, value`, integers
//! big-endian. And the cursor with which everything that comes from Java is read: no length is believed before it is
//! checked against the bytes that are left.

use bytes::Bytes;

/// Bytes that are not what the native method's contract says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed argument at byte {at}: {what}")]
pub struct Malformed {
    /// Where the reader stood.
    pub at: usize,
    /// What it found, for people.
    pub what: &'static str,
}

/// A row, its value `None` where it is deleted.
pub type Row = (Bytes, Option<Bytes>);

/// Reads from the front of a buffer; what it gives shares the buffer.
pub struct Cursor {
    bytes: Bytes,
    at: usize,
}

impl Cursor {
    /// Reads `bytes` from their start.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether all was read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// What is wrong where the reader stands.
    pub fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<Bytes, Malformed> {
        if count > self.bytes.len() - self.at {
            return Err(self.malformed("cut short"));
        }
        let taken = self.bytes.slice(self.at..self.at + count);
        self.at += count;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let array =
            self.bytes[self.at..].first_chunk().copied().ok_or_else(|| self.malformed("cut short"))?;
        self.at += N;
        Ok(array)
    }

    /// The next `int32`.
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    /// The next `int64`.
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    /// What follows an int32 length.
    pub fn sized(&mut self) -> Result<Bytes, Malformed> {
        let length = usize::try_from(self.i32()?).map_err(|_| self.malformed("a negative length"))?;
        self.take(length)
    }

    /// What follows an int32 length, or `None` for the length -1.
    pub fn sized_or_null(&mut self) -> Result<Option<Bytes>, Malformed> {
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
pub fn unpack(bytes: Bytes) -> Result<Vec<Row>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut rows = Vec::new();
    while !cursor.is_at_end() {
        rows.push((cursor.sized()?, cursor.sized_or_null()?));
    }
    Ok(rows)
}

/// Reads packed changelog offsets: rows of a name in UTF-8 and eight bytes, or null where the offset is forgotten.
pub fn unpack_offsets(bytes: Bytes) -> Result<Vec<(String, Option<i64>)>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut offsets = Vec::new();
    while !cursor.is_at_end() {
        let name = String::from_utf8(cursor.sized()?.into());
        let name = name.map_err(|_| cursor.malformed("the name of an offset is not UTF-8"))?;
        let offset = cursor.sized_or_null()?.map(|offset| offset[..].try_into()).transpose();
        let offset = offset.map_err(|_| cursor.malformed("an offset does not have 8 bytes"))?;
        offsets.push((name, offset.map(i64::from_be_bytes)));
    }
    Ok(offsets)
}

/// Appends a row.
///
/// # Panics
/// If key or value is longer than a Java array can be; neither comes from anywhere else.
pub fn pack(rows: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
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
    fn an_offset_has_eight_bytes_or_none() {
        let read = |offset: Option<&[u8]>| {
            let mut packed = Vec::new();
            pack(&mut packed, b"topic-0", offset);
            unpack_offsets(packed.into()).ok()
        };
        let offset = |offset| Some(vec![("topic-0".to_owned(), offset)]);
        assert_eq!(read(None), offset(None));
        assert_eq!(read(Some(&7_i64.to_be_bytes())), offset(Some(7)));
        assert_eq!(read(Some(&[0; 7])), None);
        assert_eq!(read(Some(&[])), None);
        assert!(unpack_offsets(Bytes::from_static(b"\0\0\0\x01\xff\xff\xff\xff\xff")).is_err());
        assert_eq!(unpack_offsets(Bytes::new()), Ok(Vec::new()));
    }

    #[test]
    fn a_length_is_not_believed() {
        for lengths in [[i32::MAX, 0], [0, i32::MAX], [-1, 0], [0, -2], [i32::MIN, 0], [0, i32::MIN]] {
            let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_be_bytes()).collect();
            assert!(unpack(bytes.into()).is_err(), "{lengths:?}");
        }
    }
}
