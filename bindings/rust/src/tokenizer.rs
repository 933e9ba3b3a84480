//! Text to token ids and back.

use crate::codes::Code;
use crate::error::Result;
use crate::native::{blob, bytes, c_path, check, text, Owned};
use crate::sys;
use std::path::Path;

/// Text to token ids and back. [`crate::LM::tokenizer`] and [`Tokenizer::open`] give one.
#[derive(Debug)]
pub struct Tokenizer {
    handle: Owned,
}

impl Tokenizer {
    pub(crate) fn of(handle: Owned) -> Self {
        Self { handle }
    }

    /// Opens the tokenizer of a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = c_path(path.as_ref(), "the path")?;
        // SAFETY: the path lasts during the call.
        Owned::make(|to| unsafe { sys::loom_tokenizer_open(path.as_ptr(), to) }).map(Self::of)
    }

    /// Returns the ids of a text with what the model expects around one; control tokens in it are read as such.
    pub fn encode(&self, words: &str) -> Result<Vec<i32>> {
        self.encode_with(words, true, true)
    }

    /// Like [`encode`](Tokenizer::encode), with or without special tokens around the text and control tokens in it.
    pub fn encode_with(&self, words: &str, add_special_tokens: bool, parse_special: bool) -> Result<Vec<i32>> {
        let (add, parse) = (i32::from(add_special_tokens), i32::from(parse_special));
        // SAFETY: the text lasts during the call.
        let ids = blob(|to| unsafe {
            sys::loom_tokenizer_encode(self.handle.get(), bytes(words.as_bytes()), words.len(), add, parse, to)
        })?;
        Ok(ids
            .chunks_exact(4)
            .map(|id| i32::from_ne_bytes([id[0], id[1], id[2], id[3]]))
            .collect())
    }

    /// Returns the text of ids; bytes that are not UTF-8 become U+FFFD.
    pub fn decode(&self, ids: &[i32], skip_special_tokens: bool) -> Result<String> {
        let skip = i32::from(skip_special_tokens);
        // SAFETY: the ids last during the call.
        text(|to| unsafe { sys::loom_tokenizer_decode(self.handle.get(), ids.as_ptr(), ids.len(), skip, to) })
    }

    /// Returns the id of a token by its text as the vocabulary spells it, or None.
    pub fn id_of(&self, token: &str) -> Result<Option<i32>> {
        let mut id = 0;
        // SAFETY: the text lasts during the call, and the place is valid.
        match check(unsafe { sys::loom_tokenizer_id(self.handle.get(), bytes(token.as_bytes()), token.len(), &mut id) })
        {
            Ok(()) => Ok(Some(id)),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the text of a token as the vocabulary spells it; empty for an unknown id.
    pub fn token(&self, id: i32) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_tokenizer_token(self.handle.get(), id, to) })
    }

    /// Returns the size of the vocabulary: one more than the greatest id.
    pub fn vocab_size(&self) -> Result<u64> {
        let mut size = 0;
        // SAFETY: the place is valid.
        check(unsafe { sys::loom_tokenizer_vocab_size(self.handle.get(), &mut size) })?;
        Ok(size)
    }
}
