//! Enums of results. Made by tools/gen_bindings.py from api/loom.json.

/// Reason why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// Done.
    Ok,
    /// An argument is outside what the function takes.
    InvalidArgument,
    /// A configuration contradicts itself.
    InvalidConfig,
    /// Shapes that must fit do not.
    ShapeMismatch,
    /// A size overflows.
    SizeOverflow,
    /// A number is outside its range.
    OutOfRange,
    /// An index is outside of what it counts.
    IndexOutOfRange,
    /// A value is infinite or NaN.
    NonFinite,
    /// A name is unknown.
    UnknownName,
    /// A key is unknown.
    UnknownKey,
    /// There is no such file or part.
    NotFound,
    /// The system refused to read or write.
    IoError,
    /// No room is left on the disk.
    DiskFull,
    /// The content makes no sense.
    CorruptData,
    /// The content is known and not supported.
    Unsupported,
    /// Out of memory.
    OutOfMemory,
    /// The context of a session holds no more tokens.
    ContextFull,
    /// The model brings no chat template.
    NoTemplate,
    /// A chat template failed.
    TemplateError,
    /// A limit that guards against hostile input was met.
    LimitExceeded,
    /// Links lead in a circle.
    LinkCycle,
    /// The caller's cancel ended the call.
    Cancelled,
    /// A tensor has no values.
    EmptyTensor,
    /// A link leads backwards where none may.
    FeedbackLink,
    /// A link leads to an empty cell.
    LinkToEmpty,
    /// Containers are nested too deep.
    NestingTooDeep,
    /// The object is not in the state that the call needs.
    InvalidState,
    /// There is no value so far.
    NoValue,
    /// There is no history so far.
    NoHistory,
    /// The format cannot hold the values exactly.
    LossySave,
    /// Another thread uses the object, or this call was made from a callback of it.
    Busy,
    /// The handle is none, was released, or is of another kind.
    BadHandle,
    /// The graphics card is lost with the values on it; objects of language models continue on the
    /// CPU.
    DeviceLost,
    /// A number that this crate does not know.
    Unknown(i32),
}

impl From<i32> for Code {
    fn from(number: i32) -> Self {
        match number {
            0 => Self::Ok,
            1 => Self::InvalidArgument,
            2 => Self::InvalidConfig,
            3 => Self::ShapeMismatch,
            4 => Self::SizeOverflow,
            5 => Self::OutOfRange,
            6 => Self::IndexOutOfRange,
            7 => Self::NonFinite,
            8 => Self::UnknownName,
            9 => Self::UnknownKey,
            10 => Self::NotFound,
            11 => Self::IoError,
            12 => Self::DiskFull,
            13 => Self::CorruptData,
            14 => Self::Unsupported,
            15 => Self::OutOfMemory,
            16 => Self::ContextFull,
            17 => Self::NoTemplate,
            18 => Self::TemplateError,
            19 => Self::LimitExceeded,
            20 => Self::LinkCycle,
            21 => Self::Cancelled,
            22 => Self::EmptyTensor,
            23 => Self::FeedbackLink,
            24 => Self::LinkToEmpty,
            25 => Self::NestingTooDeep,
            26 => Self::InvalidState,
            27 => Self::NoValue,
            28 => Self::NoHistory,
            29 => Self::LossySave,
            30 => Self::Busy,
            31 => Self::BadHandle,
            32 => Self::DeviceLost,
            other => Self::Unknown(other),
        }
    }
}

/// Reason why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// It goes on.
    NotYet,
    /// An end-of-sequence token.
    Eos,
    /// A stop string.
    Text,
    /// Max_tokens.
    Length,
    /// The context is full.
    Context,
    /// The caller's cancel.
    Cancelled,
    /// A number that this crate does not know.
    Unknown(i32),
}

impl From<i32> for StopReason {
    fn from(number: i32) -> Self {
        match number {
            0 => Self::NotYet,
            1 => Self::Eos,
            2 => Self::Text,
            3 => Self::Length,
            4 => Self::Context,
            5 => Self::Cancelled,
            other => Self::Unknown(other),
        }
    }
}
