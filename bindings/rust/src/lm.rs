//! Language models: load one, ask it, stream its answer.

use crate::chat::Chat;
use crate::codes::Code;
use crate::error::{Error, Result};
use crate::hub::find_model;
use crate::native::{
    bytes, c_path, check, optional, pointer, slice_at, text, Callback, Cancel, Compute, OneThread, Owned,
};
use crate::options::{json_of, Form, Options, Prompt};
use crate::stream::{Generation, Stream, OF_GENERATOR};
use crate::sys;
use crate::tokenizer::Tokenizer;
use std::ffi::{c_char, c_void, CString};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of loading a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Numeric type that the matrices are quantised to on load, as "int8"; None: as stored.
    pub dtype: Option<String>,
    /// Threads and device of each session. No result depends on them.
    pub compute: Compute,
    /// Longest sequence in tokens; 0: that of the model's training, at most 4096.
    pub context: u64,
    /// Type of keys and values: "float32" (or None), "bfloat16" or "int8".
    pub kv_dtype: Option<String>,
    /// Folders of low-rank adapters as PEFT writes them.
    pub adapters: Vec<PathBuf>,
    /// Flag that ends the loading with [`Code::Cancelled`].
    pub cancel: Option<Cancel>,
}

/// Language model: weights, tokenizer, chat template. Clones share it.
///
/// Any number of threads may use one. Each [`generate`](LM::generate), [`stream`](LM::stream) and
/// [`chat`](LM::chat) has a session of its own.
#[derive(Clone, Debug)]
pub struct LM {
    handle: Arc<Owned>,
    options: Arc<LoadOptions>,
}

unsafe extern "C" fn on_progress(user: *mut c_void, fraction: f64) -> i32 {
    // SAFETY: `user` is the callback of the call that runs.
    unsafe { &mut *(user as *mut Callback<f64>) }.call(fraction)
}

impl LM {
    /// Loads a GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's cache.
    pub fn open(model: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(model, &LoadOptions::default(), |_| true)
    }

    /// Like [`open`](LM::open), with options and a function that is called with the part that is loaded, from 0 to 1.
    ///
    /// [`Code::Cancelled`] when the function returns false.
    pub fn open_with(
        model: impl AsRef<Path>,
        options: &LoadOptions,
        progress: impl FnMut(f64) -> bool,
    ) -> Result<Self> {
        let path = c_path(&find_model(model)?, "the path of the model")?;
        // SAFETY: path and options last during the call.
        Self::load(options, progress, |raw, to| unsafe {
            sys::loom_model_open(path.as_ptr(), raw, to)
        })
    }

    /// Loads the bytes of a GGUF file or an .entity. Its answers have no receipt, since no file can be named.
    pub fn from_bytes(data: &[u8], options: &LoadOptions) -> Result<Self> {
        // SAFETY: data and options last during the call.
        Self::load(
            options,
            |_| true,
            |raw, to| unsafe { sys::loom_model_from_memory(bytes(data), data.len(), raw, to) },
        )
    }

    fn load(
        options: &LoadOptions,
        mut progress: impl FnMut(f64) -> bool,
        function: impl FnOnce(*const sys::ModelOptions, *mut sys::Model) -> sys::Status,
    ) -> Result<Self> {
        let dtype = optional(&options.dtype, "dtype")?;
        let adapters: Vec<CString> = options
            .adapters
            .iter()
            .map(|folder| c_path(folder, "the folder of an adapter"))
            .collect::<Result<_>>()?;
        let pointers: Vec<*const c_char> = adapters.iter().map(|text| text.as_ptr()).collect();
        let mut callback = Callback::new(&mut progress);
        let raw = sys::ModelOptions {
            cancel: Cancel::handle_of(options.cancel.as_ref()),
            progress: Some(on_progress),
            user: callback.user(),
            dtype: pointer(&dtype),
            adapters: pointers.as_ptr(),
            adapters_count: pointers.len(),
            ..Default::default()
        };
        let handle = Owned::make(|to| function(&raw, to));
        callback.finish();
        let mut options = options.clone();
        options.cancel = None; // of the loading alone
        Ok(Self {
            handle: Arc::new(handle?),
            options: Arc::new(options),
        })
    }

    pub(crate) fn handle(&self) -> sys::Model {
        self.handle.get()
    }

    /// Answers or continues a prompt: a text, messages, or token ids.
    pub fn generate<'p>(&self, prompt: impl Into<Prompt<'p>>, options: &Options) -> Result<Generation> {
        self.stream(prompt, options)?.finish()
    }

    /// Like [`generate`](LM::generate), as an iterator over pieces of text.
    pub fn stream<'p>(&self, prompt: impl Into<Prompt<'p>>, options: &Options) -> Result<Stream<'static>> {
        let session = self.session()?;
        session.begin(prompt.into(), options)
    }

    /// Begins a conversation, with a system message or none. The options are those of every answer.
    pub fn chat(&self, system: Option<&str>, options: &Options) -> Result<Chat> {
        Chat::new(self, system, options)
    }

    /// Makes a session, for prompts that are read once and used several times.
    pub fn session(&self) -> Result<Session> {
        let compute = self.options.compute.filled()?;
        let kv_dtype = optional(&self.options.kv_dtype, "kv_dtype")?;
        let raw = sys::SessionOptions {
            compute: &compute.raw,
            context_tokens: self.options.context,
            kv_dtype: pointer(&kv_dtype),
            ..Default::default()
        };
        // SAFETY: the options last during the call.
        let handle = Owned::make(|to| unsafe { sys::loom_session_create(self.handle(), &raw, to) })?;
        Ok(Session {
            handle,
            _one_thread: PhantomData,
        })
    }

    /// Returns the tokenizer.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        // SAFETY: the place of the handle is valid.
        Owned::make(|to| unsafe { sys::loom_model_tokenizer(self.handle(), to) }).map(Tokenizer::of)
    }

    /// Returns a JSON object: path, format, sizes, context, special tokens, what is missing.
    pub fn info(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_model_info(self.handle(), to) })
    }
}

/// Sequence of tokens with its keys and values. Tokens that it holds are not read again.
#[derive(Debug)]
pub struct Session {
    handle: Owned,
    _one_thread: OneThread,
}

impl Session {
    pub(crate) fn handle(&self) -> sys::Session {
        self.handle.get()
    }

    /// Continues the sequence with a prompt.
    pub fn generate<'p>(&mut self, prompt: impl Into<Prompt<'p>>, options: &Options) -> Result<Generation> {
        self.stream(prompt, options)?.finish()
    }

    /// Like [`generate`](Session::generate), as an iterator over pieces of text.
    pub fn stream<'s, 'p>(&'s mut self, prompt: impl Into<Prompt<'p>>, options: &Options) -> Result<Stream<'s>> {
        self.begin(prompt.into(), options)
    }

    fn begin<'s>(&self, prompt: Prompt<'_>, options: &Options) -> Result<Stream<'s>> {
        let filled = options.filled()?;
        let session = self.handle();
        let (words, form) = match prompt {
            Prompt::Ids(_) => (String::new(), sys::PROMPT_RAW),
            Prompt::Text(words) => (
                words.to_owned(),
                match options.form {
                    Form::Auto => sys::PROMPT_AUTO,
                    Form::Raw => sys::PROMPT_RAW,
                    Form::Chat => sys::PROMPT_CHAT,
                },
            ),
            Prompt::Messages(_) if options.form == Form::Raw => {
                let text = "form is Raw with a list of messages: expected Chat or Auto";
                return Err(Error::new(Code::InvalidArgument, text));
            }
            Prompt::Messages(messages) => (json_of(messages), sys::PROMPT_MESSAGES),
        };
        // SAFETY: ids, text and options last during the call.
        let handle = Owned::make(|to| unsafe {
            match prompt {
                Prompt::Ids(ids) => sys::loom_generator_create(session, ids.as_ptr(), ids.len(), &filled.raw, to),
                _ => {
                    sys::loom_generator_from_text(session, bytes(words.as_bytes()), words.len(), form, &filled.raw, to)
                }
            }
        })?;
        Ok(Stream::new(
            handle,
            OF_GENERATOR,
            options.cancel.clone(),
            options.logprobs > 0,
        ))
    }

    /// Appends ids and returns the logits that follow the last one.
    pub fn feed(&mut self, ids: &[i32], cancel: Option<&Cancel>) -> Result<Vec<f32>> {
        let (mut logits, mut count) = (std::ptr::null(), 0);
        // SAFETY: the places are valid; the logits last until the next call with the session.
        unsafe {
            check(sys::loom_session_feed(
                self.handle(),
                0,
                ids.as_ptr(),
                ids.len(),
                Cancel::handle_of(cancel),
                &mut logits,
                &mut count,
            ))?;
            Ok(slice_at(logits, count).to_vec())
        }
    }

    /// Returns the tokens of the sequence.
    pub fn tokens(&self) -> Result<Vec<i32>> {
        let (mut ids, mut count) = (std::ptr::null(), 0);
        // SAFETY: the places are valid; the ids last until the next call with the session.
        unsafe {
            check(sys::loom_session_tokens(self.handle(), 0, &mut ids, &mut count))?;
            Ok(slice_at(ids, count).to_vec())
        }
    }

    /// Drops what follows the first `length` tokens.
    pub fn rewind(&mut self, length: u64) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_session_rewind(self.handle(), 0, length) })
    }
}
