//! Conversations with a language model.

use crate::error::Result;
use crate::lm::LM;
use crate::native::{bytes, c_path, c_text, check, pointer, text, Cancel, OneThread, Owned};
use crate::options::{json_of, Message, Options};
use crate::stream::{Generation, Stream, OF_CHAT};
use crate::sys;
use std::marker::PhantomData;
use std::path::Path;

/// Conversation: messages in, answers out. [`LM::chat`] begins one.
///
/// Every message is written with the chat template of the model. Tokens that the model has read are not read again.
#[derive(Debug)]
pub struct Chat {
    handle: Owned,
    cancel: Option<Cancel>,
    has_logprobs: bool,
    _one_thread: OneThread,
}

impl Chat {
    pub(crate) fn new(model: &LM, system: Option<&str>, options: &Options) -> Result<Self> {
        let (session, filled) = (model.session()?, options.filled()?);
        let system = system.map(|system| c_text(system, "system")).transpose()?;
        // SAFETY: system and options last during the call.
        let handle =
            Owned::make(|to| unsafe { sys::loom_chat_create(session.handle(), pointer(&system), &filled.raw, to) })?;
        Ok(Self {
            handle,
            cancel: options.cancel.clone(),
            has_logprobs: options.logprobs > 0,
            _one_thread: PhantomData,
        })
    }

    /// Adds a message of the user and answers it.
    pub fn say(&mut self, words: &str) -> Result<Generation> {
        self.stream(words)?.finish()
    }

    /// Like [`say`](Chat::say), as an iterator over pieces of text.
    pub fn stream(&mut self, words: &str) -> Result<Stream<'_>> {
        let cancel = Cancel::handle_of(self.cancel.as_ref());
        // SAFETY: the text lasts during the call.
        check(unsafe { sys::loom_chat_say(self.handle.get(), bytes(words.as_bytes()), words.len(), cancel) })?;
        self.answering()
    }

    /// Answers the messages as they stand.
    pub fn answer(&mut self) -> Result<Stream<'_>> {
        let cancel = Cancel::handle_of(self.cancel.as_ref());
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_chat_answer(self.handle.get(), cancel) })?;
        self.answering()
    }

    fn answering(&mut self) -> Result<Stream<'_>> {
        let handle = self.handle.retain()?;
        Ok(Stream::new(handle, OF_CHAT, self.cancel.clone(), self.has_logprobs))
    }

    /// Returns the conversation, a JSON list of messages with role and content.
    pub fn messages(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_chat_messages(self.handle.get(), to) })
    }

    /// Replaces the conversation.
    pub fn set_messages(&mut self, messages: &[Message]) -> Result<()> {
        let json = json_of(messages);
        // SAFETY: the text lasts during the call.
        check(unsafe { sys::loom_chat_set_messages(self.handle.get(), bytes(json.as_bytes()), json.len()) })
    }

    /// Keeps the first `count` messages.
    pub fn rewind(&mut self, count: u64) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_chat_rewind(self.handle.get(), count) })
    }

    /// Replaces the text of a message and drops the messages after it.
    pub fn edit(&mut self, index: u64, words: &str) -> Result<()> {
        // SAFETY: the text lasts during the call.
        check(unsafe { sys::loom_chat_edit(self.handle.get(), index, bytes(words.as_bytes()), words.len()) })
    }

    /// Writes the conversation into a file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref(), "the path")?;
        // SAFETY: the path lasts during the call.
        check(unsafe { sys::loom_chat_save(self.handle.get(), path.as_ptr()) })
    }

    /// Replaces the conversation by that of a file.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref(), "the path")?;
        // SAFETY: the path lasts during the call.
        check(unsafe { sys::loom_chat_load(self.handle.get(), path.as_ptr()) })
    }
}
