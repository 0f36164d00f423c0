//! Texts that a model writes, and adapters.
mod support;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ondine::*;
use support::*;

/// A model of tests/bindings/program/models.cpp. That of bytes.onnx finds the byte that follows the
/// last one most likely.
fn made(name: &str) -> PathBuf {
    Path::new(&std::env::var("ONDINE_MODELS").unwrap()).join(name)
}

fn generator(options: Options, text: Options) -> Result<Generator> {
    let model = Model::load(&made("bytes.onnx"), &Options::new()).unwrap();
    Generator::new(&model, &options, &text)
}

fn greedy(most: u32) -> Options {
    Options::new().with("temperature", 0).with("max-tokens", most)
}

#[test]
fn a_generator_outlives_its_model_and_threads_share_it() {
    let generator = generator(greedy(5), Options::new()).unwrap();
    let text = |prompt: &str| {
        generator.generate(prompt).unwrap().get("text").text().map(str::to_string).unwrap()
    };
    assert_eq!(text("a"), "bcdef");
    std::thread::scope(|scope| {
        let there = scope.spawn(|| text("k"));
        assert_eq!(text("a"), "bcdef");
        assert_eq!(there.join().unwrap(), "lmnop");
    });
    let report = generator.generate_after(&[97, 98, 99]).unwrap();
    assert_eq!(report.get("text").text(), Some("defgh"));
    assert_eq!(report.get("prompt_tokens").number(), Some(3.0));
}

#[test]
fn a_text_comes_in_parts_and_ends_where_a_callback_says() {
    let generator = generator(greedy(5), Options::new()).unwrap();
    let mut heard = String::new();
    let report = generator
        .generate_with("a", |piece| {
            heard.push_str(piece);
            if heard.len() < 3 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
    assert_eq!(heard, "bcd");
    assert_eq!(report.get("end").text(), Some("callback"));
    let panic = std::panic::catch_unwind(|| generator.generate_with("a", |_| panic!("enough")));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"enough"));
    assert_eq!(generator.generate("a").unwrap().get("text").text(), Some("bcdef"));
}

#[test]
fn texts_become_tokens_and_tokens_texts() {
    let generator = generator(greedy(1), Options::new()).unwrap();
    assert_eq!(generator.encode("abc").unwrap(), [97, 98, 99]);
    assert_eq!(generator.decode(&[97, 98, 99]).unwrap(), "abc");
    assert_eq!(generator.decode(&[97, 255]).unwrap(), "a\u{fffd}");
    assert_eq!(generator.decode(&generator.encode("na\u{ef}f").unwrap()).unwrap(), "na\u{ef}f");
    assert!(generator.encode("").unwrap().is_empty());
}

#[test]
fn a_conversation_goes_through_the_chat_template() {
    let messages =
        [Message { role: "system", content: "x" }, Message { role: "user", content: "a" }];
    let chat = generator(greedy(2), Options::from([("chat-template", "chatml")])).unwrap();
    let report = chat.answer(&messages).unwrap();
    let tokens: Vec<f64> =
        report.get("tokens").list().iter().map(|one| one.number().unwrap()).collect();
    assert_eq!(tokens, [11.0, 12.0]); // after the end of a line
    let plain = generator(greedy(2), Options::new()).unwrap();
    let error = plain.answer(&messages).unwrap_err();
    assert_eq!(error.code(), Code::Mismatch);
    assert!(error.reason().contains("no chat template"), "{error}");
    let error = chat.answer(&[Message { role: "us\0er", content: "a" }]).unwrap_err();
    assert_eq!(error.code(), Code::Mismatch);
}

#[test]
fn options_that_generate_does_not_take_are_refused() {
    let error = generator(greedy(5).with("top-k", 3), Options::new()).err().unwrap();
    assert_eq!(error.code(), Code::InvalidOption);
    assert!(error.reason().contains("top-k"), "{error}");
    let error = generator(greedy(5), Options::from([("columns", "a")])).err().unwrap();
    assert_eq!(error.code(), Code::InvalidOption);
    let folder = path("no-folder");
    let error = import_hugging_face(&folder, path("none.onnx"), &Options::new()).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
}

/// The adapters of net.onnx after some steps, and the logits of the model that has them.
fn write_adapters(folder: &Path, feeds: &Values) -> Vec<f32> {
    let options = Options::from([("loss", "softmax-cross-entropy"), ("lora-targets", "w")])
        .with("lora", 1)
        .with("learning-rate", 0.5);
    let mut model = Model::prepare(&made("net.onnx"), &options, &Options::new()).unwrap();
    let all = model.adapters().unwrap();
    assert_eq!(all.list().len(), 1);
    assert_eq!(all.list()[0].get("kind").text(), Some("lora"));
    let (image, label) = rows(12);
    let batch = Values::new().unwrap().with("image", &[12, 4], &image).unwrap();
    let batch = batch.with("label", &[12], &label).unwrap();
    for _ in 0..5 {
        model.train_step(&batch).unwrap();
    }
    model.save_adapters(folder).unwrap();
    let tuned = logits(&model, feeds);
    model.initialize(1).unwrap();
    assert_ne!(logits(&model, feeds), tuned);
    model.load_adapters(folder).unwrap();
    assert_eq!(logits(&model, feeds), tuned);
    let error = model.load_adapters(path("none")).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    tuned
}

fn logits(model: &Model, feeds: &Values) -> Vec<f32> {
    let results = model.infer(feeds, &["logits"]).unwrap();
    results.get("logits").unwrap().as_slice::<f32>().unwrap().to_vec()
}

#[test]
fn adapters_are_written_read_and_put_beside_the_weights_of_a_model() {
    let folder = path("adapters");
    let feeds = Values::new().unwrap().with("image", &[2, 4], &rows(2).0).unwrap();
    let tuned = write_adapters(&folder, &feeds);
    let base = Model::load(&made("net.onnx"), &Options::new()).unwrap();
    assert!(base.adapters().unwrap().list().is_empty());
    assert_eq!(base.save_adapters(path("none")).unwrap_err().code(), Code::Mismatch);
    let one = AdapterFolder { folder: &folder, weight: 1.0, name: Some("tuned") };
    let other = AdapterFolder { weight: 0.0, name: Some("other"), ..one };
    let both = base.with_adapters(&[one, other], &Options::new()).unwrap();
    let untuned = logits(&base, &feeds);
    drop(base); // what both share stays
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(close(&logits(&both, &feeds), &tuned) && !close(&untuned, &tuned));
    let off = feeds.with("adapter.tuned", &[], &[0.0f32]).unwrap();
    assert_eq!(logits(&both, &off), untuned);
    std::fs::remove_dir_all(folder).unwrap();
}
