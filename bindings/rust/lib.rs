//! The C ABI of Loom: constants, structs and functions of loom.h. Made by tools/gen_bindings.py from api/loom.json.
//!
//! Structs begin with their size, which `Default` sets; the other fields are 0, which means their defaults.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_void};

/// Any of the handles below. 0 stands for none.
pub type Handle = u64;
/// Bytes that a function returns: a text, ids, a snapshot.
pub type Blob = Handle;
/// A flag that ends one long call from another thread.
pub type Cancel = Handle;
/// Workers that any number of sessions share.
pub type Threads = Handle;
/// Text to token ids and back. Immutable.
pub type Tokenizer = Handle;
/// A language model: weights, tokenizer, chat template. Immutable.
pub type Model = Handle;
/// Sequences of tokens with their keys and values, over one model.
pub type Session = Handle;
/// One generation, step by step, over one session.
pub type Generator = Handle;

/// What every function returns: OK, or why it failed. loom_last_error() has the text.
pub type Status = i32;
/// done
pub const OK: Status = 0;
/// an argument is outside what the function takes
pub const INVALID_ARGUMENT: Status = 1;
/// a configuration contradicts itself
pub const INVALID_CONFIG: Status = 2;
/// shapes that must fit do not
pub const SHAPE_MISMATCH: Status = 3;
/// a size is beyond what can be counted
pub const SIZE_OVERFLOW: Status = 4;
/// a number is outside its range
pub const OUT_OF_RANGE: Status = 5;
/// an index is outside of what it counts
pub const INDEX_OUT_OF_RANGE: Status = 6;
/// a value is infinite or NaN
pub const NON_FINITE: Status = 7;
/// a name means nothing here
pub const UNKNOWN_NAME: Status = 8;
/// a key means nothing here
pub const UNKNOWN_KEY: Status = 9;
/// there is no such file or part
pub const NOT_FOUND: Status = 10;
/// the system refused to read or write
pub const IO_ERROR: Status = 11;
/// no room is left on the disk
pub const DISK_FULL: Status = 12;
/// the content makes no sense
pub const CORRUPT_DATA: Status = 13;
/// the content is known and not supported
pub const UNSUPPORTED: Status = 14;
/// memory is not to be had
pub const OUT_OF_MEMORY: Status = 15;
/// the context of a session holds no more tokens
pub const CONTEXT_FULL: Status = 16;
/// the model brings no chat template
pub const NO_TEMPLATE: Status = 17;
/// a chat template failed
pub const TEMPLATE_ERROR: Status = 18;
/// a limit that guards against hostile input was met
pub const LIMIT_EXCEEDED: Status = 19;
/// links lead in a circle
pub const LINK_CYCLE: Status = 20;
/// the caller's cancel ended the call
pub const CANCELLED: Status = 21;
/// a tensor has no values
pub const EMPTY_TENSOR: Status = 22;
/// a link leads backwards where none may
pub const FEEDBACK_LINK: Status = 23;
/// a link leads to an empty cell
pub const LINK_TO_EMPTY: Status = 24;
/// containers lie too deep in each other
pub const NESTING_TOO_DEEP: Status = 25;
/// the object is not in the state that the call needs
pub const INVALID_STATE: Status = 26;
/// there is no value so far
pub const NO_VALUE: Status = 27;
/// there is no history so far
pub const NO_HISTORY: Status = 28;
/// the format cannot hold the values exactly
pub const LOSSY_SAVE: Status = 29;
/// another thread uses the object, or this call was made from a callback of it
pub const BUSY: Status = 30;
/// the handle is none, was released, or is of another kind
pub const BAD_HANDLE: Status = 31;

/// What a handle stands for.
pub type Kind = i32;
pub const KIND_NONE: Kind = 0;
pub const KIND_BLOB: Kind = 1;
pub const KIND_CANCEL: Kind = 2;
pub const KIND_THREADS: Kind = 3;
pub const KIND_TOKENIZER: Kind = 4;
pub const KIND_MODEL: Kind = 5;
pub const KIND_SESSION: Kind = 6;
pub const KIND_GENERATOR: Kind = 7;

/// How a text becomes a prompt.
pub type PromptForm = i32;
/// a question for a model with a chat template, a text to continue for the others
pub const PROMPT_AUTO: PromptForm = 0;
/// the text is continued as it is
pub const PROMPT_RAW: PromptForm = 1;
/// the text is a question; NO_TEMPLATE when the model brings no template
pub const PROMPT_CHAT: PromptForm = 2;

/// Why a generation ended.
pub type Stop = i32;
/// it goes on
pub const STOP_NOT_YET: Stop = 0;
/// an end-of-sequence token
pub const STOP_EOS: Stop = 1;
/// a stop string
pub const STOP_TEXT: Stop = 2;
/// max_tokens
pub const STOP_LENGTH: Stop = 3;
/// the context is full
pub const STOP_CONTEXT: Stop = 4;
/// the caller's cancel
pub const STOP_CANCELLED: Stop = 5;

/// Called on the thread of the caller, with the part that is done, from 0 to 1. Returning 0 cancels the call.
pub type OnProgress = Option<unsafe extern "C" fn(user: *mut c_void, fraction: f64) -> i32>;

/// What a host's worker calls.
pub type Work = Option<unsafe extern "C" fn(job: *mut c_void, worker: i32)>;

/// Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns when all have
/// returned.
pub type RunWork = Option<unsafe extern "C" fn(user: *mut c_void, work: Work, job: *mut c_void, workers: i32)>;

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ModelOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// workers for loading; 0: one per physical core
    pub threads: Threads,
    /// ends the call with CANCELLED
    pub cancel: Cancel,
    /// NULL: none
    pub progress: OnProgress,
    /// first argument of progress
    pub user: *mut c_void,
    /// quantises the matrices on load to this type, by name; NULL: as stored
    pub dtype: *const c_char,
    /// folders of PEFT adapters
    pub adapters: *const *const c_char,
    pub adapters_count: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SessionOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// shared workers; 0: workers of its own
    pub threads: Threads,
    /// of its own workers; 0: one per physical core
    pub thread_count: i32,
    /// how many sequences it holds at once; 0: one
    pub sequences: u32,
    /// longest sequence; 0: what the model was trained for, at most 4096
    pub context_tokens: u64,
    /// of keys and values: float32 (the default), bfloat16, int8
    pub kv_dtype: *const c_char,
    /// activations in 8 bits instead of 16: faster, a little less exact
    pub int8_activations: i32,
    /// an instruction set by name, to compare; NULL: the best one
    pub isa: *const c_char,
}

impl Default for SessionOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default: 128 tokens, the most likely token each time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GenerationOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// 0: 128
    pub max_tokens: u64,
    /// end-of-sequence tokens are banned before
    pub min_tokens: u64,
    /// of the draws: equal seeds give equal texts
    pub seed: u64,
    /// 0: the most likely token
    pub temperature: f32,
    /// 0 or 1: off; a small number keeps the best token alone
    pub top_p: f32,
    /// 0: off
    pub min_p: f32,
    /// 0 or 1: off
    pub typical_p: f32,
    /// 0 or 1: off
    pub repetition_penalty: f32,
    /// 0: off
    pub frequency_penalty: f32,
    /// 0: off
    pub presence_penalty: f32,
    /// 0: off
    pub top_k: i32,
    /// tokens that the penalties look back on; 0: 64, -1: all
    pub repetition_window: i32,
    /// end-of-sequence tokens are banned throughout
    pub ignore_eos: i32,
    /// the text ends before the first of them
    pub stop: *const *const c_char,
    pub stop_count: usize,
}

impl Default for GenerationOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// What one call of loom_generator_next() did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Step {
    /// The size of the struct.
    pub struct_size: u32,
    /// text that can no longer change, behind what came before; may be empty; lasts until the next call with the
    /// generator
    pub text: *const c_char,
    pub text_size: usize,
    /// of the prompt read so far
    pub prompt_tokens: u64,
    /// drawn so far
    pub generated_tokens: u64,
    /// STOP_NOT_YET: call again
    pub stop: Stop,
}

impl Default for Step {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// A generation so far, or whole. Pointers last until the next call with the generator.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Generation {
    /// The size of the struct.
    pub struct_size: u32,
    /// without stop text and end-of-sequence token; bytes, which a model may leave without a UTF-8 end
    pub text: *const c_char,
    pub text_size: usize,
    /// drawn tokens, the end-of-sequence token not included
    pub ids: *const i32,
    pub ids_count: usize,
    pub prompt_tokens: u64,
    /// of the prompt's text that have no token in the vocabulary
    pub dropped_bytes: u64,
    /// spent on reading the prompt
    pub prefill_seconds: f64,
    /// spent on drawing
    pub decode_seconds: f64,
    pub stop: Stop,
    /// SHA-256 of the ids and the bits of the last logits; zero before the end
    pub hash: [u8; 32],
}

impl Default for Generation {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

#[cfg(target_pointer_width = "32")]
const _: () = {
    assert!(core::mem::size_of::<ModelOptions>() == 48);
    assert!(core::mem::offset_of!(ModelOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(ModelOptions, threads) == 8);
    assert!(core::mem::offset_of!(ModelOptions, cancel) == 16);
    assert!(core::mem::offset_of!(ModelOptions, progress) == 24);
    assert!(core::mem::offset_of!(ModelOptions, user) == 28);
    assert!(core::mem::offset_of!(ModelOptions, dtype) == 32);
    assert!(core::mem::offset_of!(ModelOptions, adapters) == 36);
    assert!(core::mem::offset_of!(ModelOptions, adapters_count) == 40);
    assert!(core::mem::size_of::<SessionOptions>() == 48);
    assert!(core::mem::offset_of!(SessionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(SessionOptions, threads) == 8);
    assert!(core::mem::offset_of!(SessionOptions, thread_count) == 16);
    assert!(core::mem::offset_of!(SessionOptions, sequences) == 20);
    assert!(core::mem::offset_of!(SessionOptions, context_tokens) == 24);
    assert!(core::mem::offset_of!(SessionOptions, kv_dtype) == 32);
    assert!(core::mem::offset_of!(SessionOptions, int8_activations) == 36);
    assert!(core::mem::offset_of!(SessionOptions, isa) == 40);
    assert!(core::mem::size_of::<GenerationOptions>() == 80);
    assert!(core::mem::offset_of!(GenerationOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(GenerationOptions, max_tokens) == 8);
    assert!(core::mem::offset_of!(GenerationOptions, min_tokens) == 16);
    assert!(core::mem::offset_of!(GenerationOptions, seed) == 24);
    assert!(core::mem::offset_of!(GenerationOptions, temperature) == 32);
    assert!(core::mem::offset_of!(GenerationOptions, top_p) == 36);
    assert!(core::mem::offset_of!(GenerationOptions, min_p) == 40);
    assert!(core::mem::offset_of!(GenerationOptions, typical_p) == 44);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_penalty) == 48);
    assert!(core::mem::offset_of!(GenerationOptions, frequency_penalty) == 52);
    assert!(core::mem::offset_of!(GenerationOptions, presence_penalty) == 56);
    assert!(core::mem::offset_of!(GenerationOptions, top_k) == 60);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_window) == 64);
    assert!(core::mem::offset_of!(GenerationOptions, ignore_eos) == 68);
    assert!(core::mem::offset_of!(GenerationOptions, stop) == 72);
    assert!(core::mem::offset_of!(GenerationOptions, stop_count) == 76);
    assert!(core::mem::size_of::<Step>() == 40);
    assert!(core::mem::offset_of!(Step, struct_size) == 0);
    assert!(core::mem::offset_of!(Step, text) == 4);
    assert!(core::mem::offset_of!(Step, text_size) == 8);
    assert!(core::mem::offset_of!(Step, prompt_tokens) == 16);
    assert!(core::mem::offset_of!(Step, generated_tokens) == 24);
    assert!(core::mem::offset_of!(Step, stop) == 32);
    assert!(core::mem::size_of::<Generation>() == 96);
    assert!(core::mem::offset_of!(Generation, struct_size) == 0);
    assert!(core::mem::offset_of!(Generation, text) == 4);
    assert!(core::mem::offset_of!(Generation, text_size) == 8);
    assert!(core::mem::offset_of!(Generation, ids) == 12);
    assert!(core::mem::offset_of!(Generation, ids_count) == 16);
    assert!(core::mem::offset_of!(Generation, prompt_tokens) == 24);
    assert!(core::mem::offset_of!(Generation, dropped_bytes) == 32);
    assert!(core::mem::offset_of!(Generation, prefill_seconds) == 40);
    assert!(core::mem::offset_of!(Generation, decode_seconds) == 48);
    assert!(core::mem::offset_of!(Generation, stop) == 56);
    assert!(core::mem::offset_of!(Generation, hash) == 60);
};

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(core::mem::size_of::<ModelOptions>() == 64);
    assert!(core::mem::offset_of!(ModelOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(ModelOptions, threads) == 8);
    assert!(core::mem::offset_of!(ModelOptions, cancel) == 16);
    assert!(core::mem::offset_of!(ModelOptions, progress) == 24);
    assert!(core::mem::offset_of!(ModelOptions, user) == 32);
    assert!(core::mem::offset_of!(ModelOptions, dtype) == 40);
    assert!(core::mem::offset_of!(ModelOptions, adapters) == 48);
    assert!(core::mem::offset_of!(ModelOptions, adapters_count) == 56);
    assert!(core::mem::size_of::<SessionOptions>() == 56);
    assert!(core::mem::offset_of!(SessionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(SessionOptions, threads) == 8);
    assert!(core::mem::offset_of!(SessionOptions, thread_count) == 16);
    assert!(core::mem::offset_of!(SessionOptions, sequences) == 20);
    assert!(core::mem::offset_of!(SessionOptions, context_tokens) == 24);
    assert!(core::mem::offset_of!(SessionOptions, kv_dtype) == 32);
    assert!(core::mem::offset_of!(SessionOptions, int8_activations) == 40);
    assert!(core::mem::offset_of!(SessionOptions, isa) == 48);
    assert!(core::mem::size_of::<GenerationOptions>() == 88);
    assert!(core::mem::offset_of!(GenerationOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(GenerationOptions, max_tokens) == 8);
    assert!(core::mem::offset_of!(GenerationOptions, min_tokens) == 16);
    assert!(core::mem::offset_of!(GenerationOptions, seed) == 24);
    assert!(core::mem::offset_of!(GenerationOptions, temperature) == 32);
    assert!(core::mem::offset_of!(GenerationOptions, top_p) == 36);
    assert!(core::mem::offset_of!(GenerationOptions, min_p) == 40);
    assert!(core::mem::offset_of!(GenerationOptions, typical_p) == 44);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_penalty) == 48);
    assert!(core::mem::offset_of!(GenerationOptions, frequency_penalty) == 52);
    assert!(core::mem::offset_of!(GenerationOptions, presence_penalty) == 56);
    assert!(core::mem::offset_of!(GenerationOptions, top_k) == 60);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_window) == 64);
    assert!(core::mem::offset_of!(GenerationOptions, ignore_eos) == 68);
    assert!(core::mem::offset_of!(GenerationOptions, stop) == 72);
    assert!(core::mem::offset_of!(GenerationOptions, stop_count) == 80);
    assert!(core::mem::size_of::<Step>() == 48);
    assert!(core::mem::offset_of!(Step, struct_size) == 0);
    assert!(core::mem::offset_of!(Step, text) == 8);
    assert!(core::mem::offset_of!(Step, text_size) == 16);
    assert!(core::mem::offset_of!(Step, prompt_tokens) == 24);
    assert!(core::mem::offset_of!(Step, generated_tokens) == 32);
    assert!(core::mem::offset_of!(Step, stop) == 40);
    assert!(core::mem::size_of::<Generation>() == 112);
    assert!(core::mem::offset_of!(Generation, struct_size) == 0);
    assert!(core::mem::offset_of!(Generation, text) == 8);
    assert!(core::mem::offset_of!(Generation, text_size) == 16);
    assert!(core::mem::offset_of!(Generation, ids) == 24);
    assert!(core::mem::offset_of!(Generation, ids_count) == 32);
    assert!(core::mem::offset_of!(Generation, prompt_tokens) == 40);
    assert!(core::mem::offset_of!(Generation, dropped_bytes) == 48);
    assert!(core::mem::offset_of!(Generation, prefill_seconds) == 56);
    assert!(core::mem::offset_of!(Generation, decode_seconds) == 64);
    assert!(core::mem::offset_of!(Generation, stop) == 72);
    assert!(core::mem::offset_of!(Generation, hash) == 76);
};

#[link(name = "loom")]
extern "C" {
    /// Returns the version, "0.1.0".
    pub fn loom_version() -> *const c_char;

    /// Returns the text of the last call on this thread that failed, one line; empty before any. It lasts until the
    /// next one fails.
    pub fn loom_last_error() -> *const c_char;

    /// Returns the name of a status, "Busy"; "Unknown" for a number that is none.
    pub fn loom_status_name(status: i32) -> *const c_char;

    /// Gives the version of the arithmetic: results of equal versions have equal bits.
    pub fn loom_numerics_version(version: *mut u32) -> Status;

    /// Gives a JSON object: version, CPU, instruction sets, cores.
    pub fn loom_system_info(info: *mut Blob) -> Status;

    /// Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
    /// Takes seconds. (isa: an instruction set by name; NULL: the best one; threads: 0: one per physical core)
    pub fn loom_verify(isa: *const c_char, threads: i32, digest: *mut Blob) -> Status;

    /// Counts one more owner.
    pub fn loom_retain(handle: Handle) -> Status;

    /// Counts one owner less; the last one ends the object, at once or when the calls that use it have returned. 0 is
    /// ignored.
    pub fn loom_release(handle: Handle) -> Status;

    /// Gives what the handle stands for.
    pub fn loom_kind_of(handle: Handle, kind: *mut Kind) -> Status;

    /// Gives the bytes of a blob; they last until it is released. A text ends with a NUL that the size does not
    /// count.
    pub fn loom_blob_view(blob: Blob, data: *mut *const c_void, data_size: *mut usize) -> Status;

    /// Makes a flag that is not set.
    pub fn loom_cancel_create(cancel: *mut Cancel) -> Status;

    /// Sets or clears the flag, from any thread.
    pub fn loom_cancel_set(cancel: Cancel, set: i32) -> Status;

    /// Starts workers. Sessions that use them at the same time take turns; no result depends on it. (count: the
    /// caller's thread included; 0: one per physical core)
    pub fn loom_threads_create(count: i32, threads: *mut Threads) -> Status;

    /// Uses the host's own workers. (count: at least 1)
    pub fn loom_threads_from_host(count: i32, run: RunWork, user: *mut c_void, threads: *mut Threads) -> Status;

    /// Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json.
    pub fn loom_tokenizer_open(path: *const c_char, tokenizer: *mut Tokenizer) -> Status;

    /// Reads a tokenizer.json from memory.
    pub fn loom_tokenizer_from_json(json: *const c_void, json_size: usize, tokenizer: *mut Tokenizer) -> Status;

    /// Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a text;
    /// parse_special: a marker in the text is the marker; 0: it is ordinary text)
    pub fn loom_tokenizer_encode(tokenizer: Tokenizer, text: *const c_void, text_size: usize,
        add_special_tokens: i32, parse_special: i32, ids: *mut Blob) -> Status;

    /// Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add nothing.
    pub fn loom_tokenizer_decode(tokenizer: Tokenizer, ids: *const i32, ids_count: usize, skip_special_tokens: i32,
        text: *mut Blob) -> Status;

    /// Gives one more than the greatest id.
    pub fn loom_tokenizer_vocab_size(tokenizer: Tokenizer, size: *mut u64) -> Status;

    /// Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has none.
    pub fn loom_tokenizer_id(tokenizer: Tokenizer, text: *const c_void, text_size: usize, id: *mut i32) -> Status;

    /// Gives the text of one id as the vocabulary spells it; empty for an unknown id.
    pub fn loom_tokenizer_token(tokenizer: Tokenizer, id: i32, text: *mut Blob) -> Status;

    /// Loads a language model: a GGUF file, a Hugging Face folder or an .entity.
    pub fn loom_model_open(path: *const c_char, options: *const ModelOptions, model: *mut Model) -> Status;

    /// Gives a JSON object: path, format, sizes, context, special tokens, what is missing.
    pub fn loom_model_info(model: Model, info: *mut Blob) -> Status;

    /// Gives the model's tokenizer; NOT_FOUND, or why it cannot be read.
    pub fn loom_model_tokenizer(model: Model, tokenizer: *mut Tokenizer) -> Status;

    /// Writes messages as the model's chat template has them: a JSON list of objects with role and content.
    pub fn loom_model_render_chat(model: Model, messages: *const c_void, messages_size: usize,
        add_generation_prompt: i32, text: *mut Blob) -> Status;

    /// Makes a session with empty sequences.
    pub fn loom_session_create(model: Model, options: *const SessionOptions, session: *mut Session) -> Status;

    /// Appends ids to a sequence and gives the logits that follow the last one; they last until the next call with
    /// the session. A call that fails leaves the sequence as it was.
    pub fn loom_session_feed(session: Session, sequence: u64, ids: *const i32, ids_count: usize, cancel: Cancel,
        logits: *mut *const f32, logits_count: *mut usize) -> Status;

    /// Gives the tokens of a sequence; they last until the next call with the session.
    pub fn loom_session_tokens(session: Session, sequence: u64, ids: *mut *const i32,
        ids_count: *mut usize) -> Status;

    /// Drops what follows the first length tokens of a sequence.
    pub fn loom_session_rewind(session: Session, sequence: u64, length: u64) -> Status;

    /// Copies a sequence onto another.
    pub fn loom_session_fork(session: Session, from: u64, to: u64) -> Status;

    /// Gives tokens, keys and values of a sequence as bytes.
    pub fn loom_session_snapshot(session: Session, sequence: u64, bytes: *mut Blob) -> Status;

    /// Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model.
    pub fn loom_session_restore(session: Session, sequence: u64, bytes: *const c_void, bytes_size: usize) -> Status;

    /// Gives a JSON object: instruction set, threads, context, sequences, memory.
    pub fn loom_session_info(session: Session, info: *mut Blob) -> Status;

    /// Prepares a generation behind what the sequence holds and the given ids. Nothing is read yet.
    pub fn loom_generator_create(session: Session, prompt: *const i32, prompt_count: usize,
        options: *const GenerationOptions, generator: *mut Generator) -> Status;

    /// The same of a text.
    pub fn loom_generator_from_text(session: Session, text: *const c_void, text_size: usize, form: PromptForm,
        options: *const GenerationOptions, generator: *mut Generator) -> Status;

    /// Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled.
    /// At the end it does nothing.
    pub fn loom_generator_next(generator: Generator, cancel: Cancel, step: *mut Step) -> Status;

    /// Gives the generation so far.
    pub fn loom_generator_result(generator: Generator, result: *mut Generation) -> Status;
}
