//! Models that turn texts into vectors.

use crate::error::Result;
use crate::hub::find_model;
use crate::native::{c_path, c_text, check, optional, pointer, text, Cancel, Compute, OneThread, Owned};
use crate::sys;
use crate::tensor::Tensor;
use crate::tokenizer::Tokenizer;
use std::ffi::{c_char, CString};
use std::marker::PhantomData;
use std::path::Path;

/// Options of an encoder.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    /// Numeric type that the matrices are quantised to on load; None: float32.
    pub dtype: Option<String>,
    /// Threads and device. No result depends on them.
    pub compute: Compute,
    /// Text before every text; an empty one puts nothing. None: the one that `prompt_name` names.
    pub prompt: Option<String>,
    /// A prompt of the folder by its name, such as "query"; None: the folder's default one, if any.
    pub prompt_name: Option<String>,
}

/// Model that turns texts into vectors: the folder of a BERT in the layout of sentence-transformers.
#[derive(Debug)]
pub struct Encoder {
    handle: Owned,
    _one_thread: OneThread,
}

impl Encoder {
    /// Loads an encoder by its path, or by a hub id that is in huggingface_hub's cache.
    pub fn open(model: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(model, &EncoderOptions::default())
    }

    /// Like [`open`](Encoder::open), with options.
    pub fn open_with(model: impl AsRef<Path>, options: &EncoderOptions) -> Result<Self> {
        let path = c_path(&find_model(model)?, "the path of the model")?;
        let compute = options.compute.filled()?;
        let texts = [
            optional(&options.dtype, "dtype")?,
            optional(&options.prompt, "prompt")?,
            optional(&options.prompt_name, "prompt_name")?,
        ];
        let raw = sys::EncoderOptions {
            compute: &compute.raw,
            dtype: pointer(&texts[0]),
            prompt: pointer(&texts[1]),
            prompt_name: pointer(&texts[2]),
            ..Default::default()
        };
        // SAFETY: path and options last during the call.
        let handle = Owned::make(|to| unsafe { sys::loom_encoder_open(path.as_ptr(), &raw, to) })?;
        Ok(Self {
            handle,
            _one_thread: PhantomData,
        })
    }

    /// Returns the vectors of texts, [texts, dimensions]. A text's vector has the same bits alone and among others.
    pub fn embed(&mut self, texts: &[&str]) -> Result<Tensor> {
        self.embed_with(texts, None)
    }

    /// Like [`embed`](Encoder::embed), with a flag that ends the call.
    pub fn embed_with(&mut self, texts: &[&str], cancel: Option<&Cancel>) -> Result<Tensor> {
        let words: Vec<CString> = texts
            .iter()
            .map(|words| c_text(words, "a text"))
            .collect::<Result<_>>()?;
        let pointers: Vec<*const c_char> = words.iter().map(|words| words.as_ptr()).collect();
        let mut vectors = sys::Tensor::default();
        let (mut tokens, mut tokens_count) = (std::ptr::null(), 0);
        // SAFETY: the places are valid; the vectors last until the next call with the encoder.
        unsafe {
            check(sys::loom_encoder_embed(
                self.handle.get(),
                pointers.as_ptr(),
                pointers.len(),
                Cancel::handle_of(cancel),
                &mut vectors,
                &mut tokens,
                &mut tokens_count,
            ))?;
            Tensor::copied(&vectors)
        }
    }

    /// Returns the tokenizer.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        // SAFETY: the place of the handle is valid.
        Owned::make(|to| unsafe { sys::loom_encoder_tokenizer(self.handle.get(), to) }).map(Tokenizer::of)
    }

    /// Returns a JSON object: dimensions, max_tokens, layers, pooling, threads.
    pub fn info(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_encoder_info(self.handle.get(), to) })
    }
}
