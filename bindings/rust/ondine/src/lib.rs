//! Ondine trains ONNX models on the device. `docs/rust-go-java.md` of the project explains this crate, and
//! `docs/c.md` the reports.
//!
//! ```no_run
//! use ondine::{Model, Options, Values};
//!
//! # fn main() -> ondine::Result<()> {
//! let options = Options::from([("loss", "softmax-cross-entropy"), ("optimizer", "adam")]);
//! let mut model = Model::prepare("net.onnx", &options, &Options::new())?;
//! let feeds = Values::new()?
//!     .with("image", &[32, 4], &[0.0f32; 128])?
//!     .with("label", &[32], &[0i64; 32])?;
//! println!("loss {}", model.train_step(&feeds)?.scalar("loss")?);
//! model.export_inference("tuned.onnx", &Options::new())?;
//! # Ok(())
//! # }
//! ```
//!
//! Objects are freed when they are dropped. They are `Send` and, but for `Generator`, not `Sync`: one
//! thread at a time.
//! A panic in a callback goes on where the call returns.
mod adapters;
mod callbacks;
mod cancel;
mod data;
mod dtype;
mod error;
mod federated;
mod files;
mod finetune;
mod generator;
mod json;
mod lent;
mod model;
mod options;
mod texts;
mod trainer;
mod values;

pub use adapters::AdapterFolder;
pub use cancel::Cancel;
pub use data::{BatchOrder, Batches, Column, Dataset, Row, Use};
pub use dtype::{DType, Element, Plain};
pub use error::{Code, Error, Result};
pub use federated::FederatedWorker;
pub use files::{check_model, has_checkpoint};
pub use finetune::{new_network, Finetune, Tuned};
pub use generator::{import_hugging_face, Generator, Message};
pub use json::Json;
pub use lent::Lent;
pub use model::Model;
pub use options::Options;
pub use texts::Source;
pub use trainer::{evaluate, Controls, Metric, Trainer};
pub use values::{Kind, Value, Values};

/// "MAJOR.MINOR.PATCH" of the library.
pub fn version() -> String {
    // SAFETY: the library gives a constant text.
    unsafe { error::text_at(ondine_sys::ondine_version()) }
}

/// Objects that were made and not freed, errors included.
pub fn live_handles() -> usize {
    unsafe { ondine_sys::ondine_live_handles() }
}

/// All options of all groups, with kinds, defaults and ranges.
pub fn option_table() -> Result<Json> {
    texts::json(|text| unsafe { ondine_sys::ondine_options_json(text) })
}
