//! Errors of the library.

use crate::codes::Code;
use std::fmt;

/// Failed call: a code to match on, and a line of text that says what came and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    text: String,
}

/// Result of a call of the library.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// Returns the reason, to match on.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the text of the error without its code.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.code, self.text)
    }
}

impl std::error::Error for Error {}
