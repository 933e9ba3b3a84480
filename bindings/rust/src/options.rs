//! Prompts, and options of everything that generates text.

use crate::codes::Code;
use crate::error::{Error, Result};
use crate::lm::LM;
use crate::native::{c_text, optional, pointer, Cancel};
use crate::sys;
use std::ffi::{c_char, CString};

/// How a text becomes a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A message for a model with a chat template, a text to continue for the others.
    #[default]
    Auto,
    /// A text that is continued as it is.
    Raw,
    /// A message; [`Code::NoTemplate`] when the model brings no chat template.
    Chat,
}

/// Message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// "system", "user" or "assistant".
    pub role: String,
    /// The text.
    pub content: String,
}

impl Message {
    /// Makes a message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
        }
    }
}

/// Input that a model answers or continues: a text, messages, or token ids.
#[derive(Clone, Copy, Debug)]
pub enum Prompt<'a> {
    /// A text, in the form of [`Options::form`].
    Text(&'a str),
    /// A conversation, which the chat template writes.
    Messages(&'a [Message]),
    /// Token ids, which are read as they are.
    Ids(&'a [i32]),
}

impl<'a> From<&'a str> for Prompt<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Prompt<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [Message]> for Prompt<'a> {
    fn from(messages: &'a [Message]) -> Self {
        Self::Messages(messages)
    }
}

impl<'a, const N: usize> From<&'a [Message; N]> for Prompt<'a> {
    fn from(messages: &'a [Message; N]) -> Self {
        Self::Messages(messages)
    }
}

impl<'a> From<&'a Vec<Message>> for Prompt<'a> {
    fn from(messages: &'a Vec<Message>) -> Self {
        Self::Messages(messages)
    }
}

impl<'a> From<&'a [i32]> for Prompt<'a> {
    fn from(ids: &'a [i32]) -> Self {
        Self::Ids(ids)
    }
}

impl<'a> From<&'a Vec<i32>> for Prompt<'a> {
    fn from(ids: &'a Vec<i32>) -> Self {
        Self::Ids(ids)
    }
}

/// Writes messages as JSON.
pub(crate) fn json_of(messages: &[Message]) -> String {
    let listed: Vec<String> = messages
        .iter()
        .map(|message| {
            format!(
                "{{\"role\":{},\"content\":{}}}",
                quoted(&message.role),
                quoted(&message.content)
            )
        })
        .collect();
    format!("[{}]", listed.join(","))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if (control as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Drafts of several tokens at once: the same answer in less time.
#[derive(Clone, Debug, Default)]
pub enum Speculate {
    /// No drafts.
    #[default]
    Off,
    /// Drafts the tokens that followed the same tokens before.
    Ngram,
    /// Drafts by a smaller model with the same tokens.
    Model(LM),
}

/// Options of an answer. The default is the most likely token each time, at most 128.
///
/// ```
/// let options = welvet::Options { max_tokens: Some(50), temperature: 0.8, seed: 1, ..Default::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Most tokens of the answer; None: 128; 0: the prompt is read and no token is drawn.
    pub max_tokens: Option<u64>,
    /// The answer does not end before this number of tokens.
    pub min_tokens: u64,
    /// Seed of the draws.
    pub seed: u64,
    /// 0 takes the most likely token each time; above 0 tokens are drawn, and equal seeds draw equal tokens.
    pub temperature: f32,
    /// Draws among this number of the most likely tokens; 0: among all.
    pub top_k: u32,
    /// Draws among the most likely tokens that together have this probability, above 0 to 1.
    pub top_p: f32,
    /// Draws among tokens with at least this part of the probability of the most likely one, 0 to 1.
    pub min_p: f32,
    /// Draws among the tokens of typical probability that together have this probability, above 0 to 1.
    pub typical_p: f32,
    /// Above 1 makes the tokens of the last `repetition_window` ones less likely.
    pub repetition_penalty: f32,
    /// Tokens that the three penalties look back on; -1: all.
    pub repetition_window: i32,
    /// Subtracted from a token's logit for each time that it occurred in the window.
    pub frequency_penalty: f32,
    /// Subtracted from a token's logit if it occurred in the window.
    pub presence_penalty: f32,
    /// Bans the tokens that end an answer.
    pub ignore_eos: bool,
    /// Texts that end the answer and are not part of it.
    pub stop: Vec<String>,
    /// Token ids that end the answer, in addition to the model's own.
    pub stop_ids: Vec<i32>,
    /// Numbers that are added to the logits of tokens before each draw.
    pub logit_bias: Vec<(i32, f32)>,
    /// Number of the best tokens of each draw that [`crate::Generation::logprobs`] has; 0: none.
    pub logprobs: u32,
    /// Drafts of several tokens at once.
    pub speculate: Speculate,
    /// How a text becomes a prompt.
    pub form: Form,
    /// Reads control tokens in prompts and messages as ordinary text: for texts of strangers.
    pub plain_text: bool,
    /// Used instead of the model's default: the name of another chat template, as "chatml", or its text.
    pub chat_template: Option<String>,
    /// JSON list of functions that the chat template describes to the model.
    pub tools: Option<String>,
    /// JSON object of variables that the chat template reads.
    pub template_variables: Option<String>,
    /// "YYYY-MM-DD", for chat templates that write the day.
    pub date: Option<String>,
    /// Continues the last message of a list instead of answering it.
    pub continue_final_message: bool,
    /// Flag that ends the answer; its text so far stays.
    pub cancel: Option<Cancel>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_tokens: None,
            min_tokens: 0,
            seed: 0,
            temperature: 0.,
            top_k: 0,
            top_p: 1.,
            min_p: 0.,
            typical_p: 1.,
            repetition_penalty: 1.,
            repetition_window: 64,
            frequency_penalty: 0.,
            presence_penalty: 0.,
            ignore_eos: false,
            stop: Vec::new(),
            stop_ids: Vec::new(),
            logit_bias: Vec::new(),
            logprobs: 0,
            speculate: Speculate::Off,
            form: Form::Auto,
            plain_text: false,
            chat_template: None,
            tools: None,
            template_variables: None,
            date: None,
            continue_final_message: false,
            cancel: None,
        }
    }
}

/// The struct of C, with the memory that its pointers need.
pub(crate) struct Filled {
    pub(crate) raw: sys::GenerationOptions,
    _texts: Vec<Option<CString>>,
    _stops: (Vec<CString>, Vec<*const c_char>),
    _numbers: (Vec<i32>, Vec<i32>, Vec<f32>),
}

impl Options {
    pub(crate) fn filled(&self) -> Result<Filled> {
        self.check()?;
        let texts = vec![
            optional(&self.chat_template, "chat_template")?,
            optional(&self.tools, "tools")?,
            optional(&self.template_variables, "template_variables")?,
            optional(&self.date, "date")?,
        ];
        let stops: Vec<CString> = self
            .stop
            .iter()
            .map(|text| c_text(text, "stop"))
            .collect::<Result<_>>()?;
        let stop_pointers: Vec<*const c_char> = stops.iter().map(|text| text.as_ptr()).collect();
        let stop_ids = self.stop_ids.clone();
        let (bias_ids, biases): (Vec<i32>, Vec<f32>) = self.logit_bias.iter().copied().unzip();
        let raw = sys::GenerationOptions {
            max_tokens: self.max_tokens.unwrap_or(0),
            prompt_only: i32::from(self.max_tokens == Some(0)),
            min_tokens: self.min_tokens,
            seed: self.seed,
            temperature: self.temperature,
            top_p: self.top_p,
            min_p: self.min_p,
            typical_p: self.typical_p,
            repetition_penalty: self.repetition_penalty,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            top_k: self.top_k as i32,
            repetition_window: self.repetition_window,
            ignore_eos: i32::from(self.ignore_eos),
            stop: stop_pointers.as_ptr(),
            stop_count: stop_pointers.len(),
            speculate: i32::from(!matches!(self.speculate, Speculate::Off)),
            draft_model: match &self.speculate {
                Speculate::Model(model) => model.handle(),
                _ => 0,
            },
            bias_ids: bias_ids.as_ptr(),
            bias_ids_count: bias_ids.len(),
            biases: biases.as_ptr(),
            biases_count: biases.len(),
            stop_ids: stop_ids.as_ptr(),
            stop_ids_count: stop_ids.len(),
            logprobs: self.logprobs,
            plain_text: i32::from(self.plain_text),
            chat_template: pointer(&texts[0]),
            tools: pointer(&texts[1]),
            template_variables: pointer(&texts[2]),
            date: pointer(&texts[3]),
            continue_final_message: i32::from(self.continue_final_message),
            ..Default::default()
        };
        Ok(Filled {
            raw,
            _texts: texts,
            _stops: (stops, stop_pointers),
            _numbers: (stop_ids, bias_ids, biases),
        })
    }

    /// Refuses the numbers that mean a default in C.
    fn check(&self) -> Result<()> {
        let never_zero = [
            ("top_p", self.top_p),
            ("typical_p", self.typical_p),
            ("repetition_penalty", self.repetition_penalty),
            ("repetition_window", self.repetition_window as f32),
        ];
        for (name, value) in never_zero {
            if value == 0. {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!("{name} is 0: it must not be"),
                ));
            }
        }
        if self.top_k > i32::MAX as u32 {
            let text = format!("top_k is {}: expected at most {}", self.top_k, i32::MAX);
            return Err(Error::new(Code::InvalidArgument, text));
        }
        Ok(())
    }
}
