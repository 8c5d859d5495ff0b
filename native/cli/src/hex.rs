//! Bytes as lower-case hex digits, the form of every byte string that the tool reads or prints.

use std::fmt::Write;

/// The bytes that `text` stands for; `None` unless it is an even number of lower-case hex digits.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

fn digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Two digits a byte.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_even_lower_case_digits_are_bytes() {
        assert_eq!(decode("00ff1a"), Some(vec![0x00, 0xff, 0x1a]));
        assert_eq!(decode(""), Some(vec![]));
        for wrong in ["0", "000", "0F", "0g", " 00", "0x00", "é"] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn every_byte_reads_back() {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
    }
}
