//! Texts of failures, cut to what may be durable: one line, no control characters, a bounded length.

use std::sync::Arc;

/// Most bytes of a failure's detail.
pub const DETAIL_BYTES_MAX: usize = 128;
/// Most bytes of a failure's message.
pub const MESSAGE_BYTES_MAX: usize = 1024;

/// The first line of `text` without control characters, at most `bytes_max` bytes, cut between characters.
pub fn sanitized(text: &str, bytes_max: usize) -> Arc<str> {
    let line = text.split(['\r', '\n']).next().unwrap_or_default();
    let mut kept = String::with_capacity(line.len().min(bytes_max));
    for character in line.chars().filter(|character| !character.is_control()) {
        if kept.len() + character.len_utf8() > bytes_max {
            break;
        }
        kept.push(character);
    }
    kept.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_stays() {
        assert_eq!(&*sanitized("one\rtwo\nthree", 100), "one");
        assert_eq!(&*sanitized("\nsecond", 100), "");
    }

    #[test]
    fn control_characters_go() {
        assert_eq!(&*sanitized("a\u{0}b\tc\u{7f}d\u{85}e", 100), "abcde");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(&*sanitized("aé", 3), "aé");
        assert_eq!(&*sanitized("aé", 2), "a");
        assert_eq!(&*sanitized("aéb", 2), "a");
    }
}
