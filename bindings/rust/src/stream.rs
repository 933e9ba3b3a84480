//! Answers of language models: finished ones and those that are being written.

use crate::codes::StopReason;
use crate::error::Result;
use crate::native::{check, slice_at, text, Cancel, OneThread, Owned};
use crate::sys;
use std::fmt;
use std::marker::PhantomData;

/// Answer of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Generation {
    /// The answer, without stop text and end-of-sequence token.
    pub text: String,
    /// Its tokens.
    pub ids: Vec<i32>,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// SHA-256 of the ids and of the bits of the last logits, hexadecimal: equal on every machine.
    pub hash: String,
    /// Number of tokens that were read before.
    pub prompt_tokens: u64,
    /// Time of reading the prompt, in seconds.
    pub prefill_seconds: f64,
    /// Time of writing the answer, in seconds.
    pub decode_seconds: f64,
    /// Number of drafted tokens.
    pub drafted: u64,
    /// Number of drafted tokens that the model confirmed.
    pub accepted: u64,
    /// Number of passes of the model.
    pub passes: u64,
    /// With [`crate::Options::logprobs`], a JSON list with an object per token; else None.
    pub logprobs: Option<String>,
}

impl fmt::Display for Generation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// Functions of the library for an answer: those of a generator, or of a chat.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    next: unsafe extern "C" fn(sys::Handle, sys::Cancel, *mut sys::Step) -> sys::Status,
    result: unsafe extern "C" fn(sys::Handle, *mut sys::Generation) -> sys::Status,
    logprobs: unsafe extern "C" fn(sys::Handle, *mut sys::Blob) -> sys::Status,
    receipt: unsafe extern "C" fn(sys::Handle, *mut sys::Blob) -> sys::Status,
    stop: Option<unsafe extern "C" fn(sys::Handle) -> sys::Status>,
}

pub(crate) const OF_GENERATOR: Calls = Calls {
    next: sys::loom_generator_next,
    result: sys::loom_generator_result,
    logprobs: sys::loom_generator_logprobs,
    receipt: sys::loom_generator_receipt,
    stop: None,
};

pub(crate) const OF_CHAT: Calls = Calls {
    next: sys::loom_chat_next,
    result: sys::loom_chat_result,
    logprobs: sys::loom_chat_logprobs,
    receipt: sys::loom_chat_receipt,
    stop: Some(sys::loom_chat_stop),
};

/// Answer that is being written: an iterator over pieces of text.
///
/// Made by [`crate::LM::stream`], [`crate::Session::stream`] and [`crate::Chat::stream`]. Dropping it ends the answer
/// where it is; in a chat its text so far joins the conversation.
pub struct Stream<'a> {
    handle: Owned,
    calls: Calls,
    cancel: Option<Cancel>,
    has_logprobs: bool,
    stop: sys::Stop,
    pending: Vec<u8>,
    failed: bool,
    _borrowed: PhantomData<&'a mut ()>,
    _one_thread: OneThread,
}

impl Stream<'_> {
    pub(crate) fn new(handle: Owned, calls: Calls, cancel: Option<Cancel>, has_logprobs: bool) -> Self {
        Self {
            handle,
            calls,
            cancel,
            has_logprobs,
            stop: sys::STOP_NOT_YET,
            pending: Vec::new(),
            failed: false,
            _borrowed: PhantomData,
            _one_thread: PhantomData,
        }
    }

    /// Returns the answer so far, or the whole one after the last piece.
    pub fn result(&self) -> Result<Generation> {
        let handle = self.handle.get();
        let mut raw = sys::Generation::default();
        // SAFETY: the place is valid; its pointers last until the next call with this object, which nobody else uses.
        let (text_of, ids, reason) = unsafe {
            check((self.calls.result)(handle, &mut raw))?;
            let text = String::from_utf8_lossy(slice_at(raw.text as *const u8, raw.text_size)).into_owned();
            (
                text,
                slice_at(raw.ids, raw.ids_count).to_vec(),
                StopReason::from(raw.stop),
            )
        };
        let logprobs = match self.has_logprobs {
            // SAFETY: the place of the blob is valid.
            true => Some(text(|to| unsafe { (self.calls.logprobs)(handle, to) })?),
            false => None,
        };
        Ok(Generation {
            text: text_of,
            ids,
            stop_reason: reason,
            hash: raw.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            prompt_tokens: raw.prompt_tokens,
            prefill_seconds: raw.prefill_seconds,
            decode_seconds: raw.decode_seconds,
            drafted: raw.drafted,
            accepted: raw.accepted,
            passes: raw.passes,
            logprobs,
        })
    }

    /// Writes the rest of the answer and returns the whole one.
    pub fn finish(&mut self) -> Result<Generation> {
        for piece in self.by_ref() {
            piece?;
        }
        self.result()
    }

    /// Returns the receipt of a complete answer, JSON, which proves it on another machine.
    pub fn receipt(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { (self.calls.receipt)(self.handle.get(), to) })
    }

    /// Does one piece of work and returns the text that has settled, which may be empty.
    fn advance(&mut self) -> Result<String> {
        let mut step = sys::Step::default();
        let cancel = Cancel::handle_of(self.cancel.as_ref());
        // SAFETY: the place is valid; the text lasts until the next call with this object.
        unsafe {
            check((self.calls.next)(self.handle.get(), cancel, &mut step))?;
            self.pending
                .extend_from_slice(slice_at(step.text as *const u8, step.text_size));
        }
        self.stop = step.stop;
        Ok(settled(&mut self.pending, step.stop != sys::STOP_NOT_YET))
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.stop == sys::STOP_NOT_YET && !self.failed {
            match self.advance() {
                Ok(piece) if piece.is_empty() => continue,
                Ok(piece) => return Some(Ok(piece)),
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl std::iter::FusedIterator for Stream<'_> {}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if let (Some(stop), sys::STOP_NOT_YET) = (self.calls.stop, self.stop) {
            // SAFETY: handles are numbers.
            unsafe { stop(self.handle.get()) };
        }
    }
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stream")
            .field("stop", &StopReason::from(self.stop))
            .finish_non_exhaustive()
    }
}

/// Takes the whole characters of a buffer; at the end of a text all that is left.
fn settled(pending: &mut Vec<u8>, is_last: bool) -> String {
    let kept = if is_last { 0 } else { incomplete(pending) };
    let rest = pending.split_off(pending.len() - kept);
    let text = String::from_utf8_lossy(pending).into_owned();
    *pending = rest;
    text
}

/// Counts the bytes of a character at the end that is not whole.
fn incomplete(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let needed = match bytes[bytes.len() - back] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if needed > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_between_characters() {
        for text in ["aé☕🦀z", "🦀", "é"] {
            let (mut pending, mut whole) = (Vec::new(), String::new());
            for &byte in text.as_bytes() {
                pending.push(byte);
                whole.push_str(&settled(&mut pending, false));
            }
            assert_eq!(whole, text);
        }
        let mut broken = vec![b'a', 0xf0, 0x9f];
        assert_eq!(settled(&mut broken, false), "a");
        assert_eq!(settled(&mut broken, true), "\u{fffd}");
    }
}
