//! What the tests share: rows of three classes, and models for them.
#![allow(dead_code)]
use std::path::PathBuf;

use ondine::{new_network, Dataset, Model, Options, Values};

/// `rows` rows of four numbers: 1 at the place of the class, and small numbers elsewhere.
pub fn rows(count: usize) -> (Vec<f32>, Vec<i64>) {
    let (mut image, mut label) = (vec![0.0; 4 * count], Vec::new());
    for row in 0..count {
        image[4 * row + row % 3] = 1.0;
        image[4 * row + 3] = (row % 7) as f32 * 0.01;
        label.push((row % 3) as i64);
    }
    (image, label)
}

pub fn feeds(count: usize) -> Values {
    let (image, label) = rows(count);
    Values::new()
        .unwrap()
        .with("x", &[count, 4], &image)
        .unwrap()
        .with("label", &[count], &label)
        .unwrap()
}

pub fn dataset(count: usize) -> Dataset {
    Dataset::from_values(&feeds(count), None, &Options::new()).unwrap()
}

/// The bytes of an inference model with the input x [N, 4].
pub fn network() -> Vec<u8> {
    new_network(Some("mlp"), &dataset(60), &Options::new().with("seed", 3)).unwrap().0
}

pub fn classes() -> Options {
    Options::from([("loss", "softmax-cross-entropy"), ("optimizer", "adam")])
        .with("learning-rate", 0.01)
}

pub fn model() -> Model {
    Model::prepare(&network(), &classes(), &Options::new()).unwrap()
}

/// A file in the folder of the test run.
pub fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ondine-rust-{}-{name}", std::process::id()))
}
