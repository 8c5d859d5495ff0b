//! The simulator's own reading and writing of the two formats that cross its border, from their description in
//! docs/ordering.md: the causes header, and the record part. The engine's code for them is what is being tested.

/// Topic id and partition, as in keys: 16 and 4 bytes.
pub(crate) type ChannelBytes = [u8; 20];

/// Encodes causes that ascend by channel.
pub(crate) fn encode_causes(causes: &[(ChannelBytes, i64)]) -> Vec<u8> {
    let mut bytes = vec![1];
    let groups: Vec<&[(ChannelBytes, i64)]> = causes.chunk_by(|a, b| a.0[..16] == b.0[..16]).collect();
    write_number(&mut bytes, groups.len());
    for group in groups {
        bytes.extend_from_slice(&group[0].0[..16]);
        write_number(&mut bytes, group.len());
        for (channel, position) in group {
            write_number(&mut bytes, partition(channel));
            bytes.extend_from_slice(&position.to_be_bytes());
        }
    }
    bytes
}

fn partition(channel: &ChannelBytes) -> usize {
    channel[16..].iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn write_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Decodes what an engine stamped; `None` for anything but an encoding of ascending causes.
pub(crate) fn decode_causes(bytes: &[u8]) -> Option<Vec<(ChannelBytes, i64)>> {
    let mut rest = bytes;
    let mut causes: Vec<(ChannelBytes, i64)> = Vec::new();
    if take(&mut rest, 1)? != [1] {
        return None;
    }
    for _ in 0..read_number(&mut rest)? {
        let topic = take(&mut rest, 16)?;
        for _ in 0..read_number(&mut rest)? {
            let mut channel = [0; 20];
            channel[..16].copy_from_slice(topic);
            channel[16..].copy_from_slice(&read_number(&mut rest)?.to_be_bytes());
            causes.push((channel, i64::from_be_bytes(take(&mut rest, 8)?.try_into().ok()?)));
        }
    }
    // One set has one encoding, so whatever else could be wrong shows in what the causes encode to.
    (rest.is_empty() && encode_causes(&causes) == bytes && causes.is_sorted_by(|a, b| a.0 < b.0))
        .then_some(causes)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn read_number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = take(rest, 1)?[0];
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// A record as a process is fed it.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Option<Vec<u8>>)>,
}

/// The record part, which stands for the content byte for byte.
pub(crate) fn encode_content(content: &Content) -> Vec<u8> {
    let mut bytes = content.timestamp.to_be_bytes().to_vec();
    bytes.push(u8::from(content.key.is_none()) | u8::from(content.value.is_none()) << 1);
    for field in content.key.iter().chain(&content.value) {
        write_field(&mut bytes, field);
    }
    write_length(&mut bytes, content.headers.len());
    for (name, value) in &content.headers {
        write_field(&mut bytes, name.as_bytes());
        match value {
            Some(value) => write_field(&mut bytes, value),
            None => bytes.extend_from_slice(&[0xff; 4]),
        }
    }
    bytes
}

/// A held message's row in version 1 of the format, which is read and never written.
pub(crate) fn encode_version_1(part: &[u8], causes: &[(ChannelBytes, i64)]) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend_from_slice(part);
    write_length(&mut bytes, causes.len());
    for (channel, position) in causes {
        bytes.extend_from_slice(channel);
        bytes.extend_from_slice(&position.to_be_bytes());
    }
    bytes
}

/// Channel and position of a held message, from the key of its row; `None` for a key of another class.
pub(crate) fn decode_hold_key(key: &[u8]) -> Option<(ChannelBytes, i64)> {
    let (b'h', rest) = key.split_first()? else { return None };
    let (channel, position) = rest.split_first_chunk()?;
    Some((*channel, i64::from_be_bytes(position.try_into().ok()?)))
}

fn write_field(bytes: &mut Vec<u8>, field: &[u8]) {
    write_length(bytes, field.len());
    bytes.extend_from_slice(field);
}

fn write_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&u32::try_from(length).expect("the world's records are small").to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_format_read_back() {
        let mut a = [0; 20];
        a[..16].copy_from_slice(&[
            0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
        ]);
        let mut causes = Vec::new();
        for (partition, position) in [(127_u32, 1), (128, 2), (16_383, 3), (16_384, 4)] {
            a[16..].copy_from_slice(&partition.to_be_bytes());
            causes.push((a, position));
        }
        let mut expected = vec![1, 1];
        expected.extend_from_slice(&a[..16]);
        expected.push(4);
        for (partition, position) in
            [(&[0x7f][..], 1_i64), (&[0x80, 1], 2), (&[0xff, 0x7f], 3), (&[0x80, 0x80, 1], 4)]
        {
            expected.extend_from_slice(partition);
            expected.extend_from_slice(&position.to_be_bytes());
        }
        assert_eq!(encode_causes(&causes), expected);
        assert_eq!(decode_causes(&expected), Some(causes));
        assert_eq!(decode_causes(&[1, 0]), Some(Vec::new()));
        for wrong in [&[][..], &[1], &[2, 0], &[1, 0, 0], &[1, 0x80, 0]] {
            assert_eq!(decode_causes(wrong), None);
        }
    }

    #[test]
    fn null_and_empty_are_written_apart() {
        let mut content = Content { timestamp: -1, key: None, value: Some(Vec::new()), headers: Vec::new() };
        content.headers = vec![("a".to_owned(), None), ("a".to_owned(), Some(Vec::new()))];
        let mut expected = vec![0xff; 8];
        expected.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 2]);
        expected.extend_from_slice(&[0, 0, 0, 1, b'a', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, b'a', 0, 0, 0, 0]);
        assert_eq!(encode_content(&content), expected);
    }
}
