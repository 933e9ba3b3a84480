//! Loom from Rust: neural networks and language models with the same bits on every machine.
//!
//! A language model that answers, by its path or by a hub id that is in huggingface_hub's cache:
//!
//! ```no_run
//! # fn main() -> welvet::Result<()> {
//! let lm = welvet::LM::open("HuggingFaceTB/SmolLM2-360M-Instruct")?;
//! println!("{}", lm.generate("What is the capital of France?", &Default::default())?.text);
//! # Ok(())
//! # }
//! ```
//!
//! A network that learns, with the samples first:
//!
//! ```
//! # fn main() -> welvet::Result<()> {
//! use welvet::{Network, Targets, Tensor, Trainer};
//! let net = Network::new(r#"{"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]}"#)?;
//! let x = Tensor::new(&[4, 2], vec![0f32, 0., 0., 1., 1., 0., 1., 1.])?;
//! let y = Tensor::new(&[4, 1], vec![0f32, 1., 1., 2.])?;
//! let mut trainer = Trainer::new(&net, x.shape(), r#"{"loss": "mse", "learning_rate": 0.1}"#)?;
//! let first = trainer.step(&x, Targets::Values(&y))?.loss;
//! for _ in 0..100 {
//!     trainer.step(&x, Targets::Values(&y))?;
//! }
//! assert!(trainer.step(&x, Targets::Values(&y))?.loss < first / 10.);
//! # Ok(())
//! # }
//! ```
//!
//! | Begin with | For |
//! | --- | --- |
//! | [`LM`] | language models: [`LM::generate`], [`LM::stream`], [`LM::chat`] |
//! | [`Encoder`] | texts as vectors |
//! | [`Network`] | networks of any layers: [`Network::forward`], [`Network::session`] |
//! | [`Trainer`], [`train`] | training, step by step or whole |
//! | [`Population`], [`evolve`], module [`evolution`] | networks that are judged, mixed and changed |
//! | [`StepMesh`] | networks that move in ticks, each cell on its own |
//! | [`Graph`] | ONNX models |
//! | [`Cancel`] | ending a call from another thread |
//! | [`sys`] | every function of loom.h, as C has it |
//!
//! Values that the library describes as JSON ([`LM::info`], [`Network::spec`]) are texts; any JSON crate reads them.
//!
//! Models, networks, tokenizers and cancels may be shared by threads. Streams, chats, sessions, trainers, populations and
//! encoders may move to another thread, and are used by one at a time:
//!
//! ```compile_fail,E0277
//! fn shared<T: Sync>() {}
//! shared::<welvet::Stream>();
//! ```
//!
//! Every object ends when it is dropped, and the compiler refuses to use it afterwards:
//!
//! ```compile_fail,E0382
//! let net = welvet::Network::new("{}").unwrap();
//! drop(net);
//! net.hash().unwrap();
//! ```

mod chat;
#[rustfmt::skip]
mod codes;
mod encoder;
mod error;
pub mod evolution;
mod graph;
mod hub;
mod lm;
mod mesh;
mod native;
mod network;
mod options;
mod stream;
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod sys;
mod tensor;
mod tokenizer;
mod training;

pub use chat::Chat;
pub use codes::{Code, StopReason};
pub use encoder::{Encoder, EncoderOptions};
pub use error::{Error, Result};
pub use evolution::{evolve, EvolveOptions, Population, RunStart};
pub use graph::{Data, Graph, GraphSession, Value};
pub use hub::find_model;
pub use lm::{LoadOptions, Session, LM};
pub use mesh::{MeshOptions, MeshTween, StepMesh, StepState, Ticks};
pub use native::{system_info, verify, version, Cancel, Compute};
pub use network::{Network, NetworkSession, Pass, SessionOptions};
pub use options::{Form, Message, Options, Prompt, Speculate};
pub use stream::{Generation, Stream};
pub use tensor::{Element, Tensor};
pub use tokenizer::Tokenizer;
pub use training::{train, Event, Phase, Run, Step, Targets, TrainOptions, Trainer};
