//! Steps, runs, callbacks, files.
mod support;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use ondine::*;
use support::*;

#[test]
fn the_loss_of_steps_falls_and_results_outlive_the_model() {
    let mut model = model();
    let feeds = feeds(30);
    let first = model.train_step(&feeds).unwrap().scalar("loss").unwrap();
    for _ in 0..60 {
        model.train_step(&feeds).unwrap();
    }
    let last = model.eval_step(&feeds).unwrap();
    let outputs = model.infer(&feeds_of_images(30), &[]).unwrap();
    assert_eq!(model.steps().unwrap(), 61);
    drop(model);
    assert!(last.scalar("loss").unwrap() < first / 2.0);
    let name = outputs.names().unwrap().remove(0);
    let logits = outputs.get(&name).unwrap();
    assert_eq!(logits.dims().unwrap(), [30, 3]);
    assert_eq!(logits.as_slice::<f32>().unwrap().len(), 90);
}

fn feeds_of_images(count: usize) -> Values {
    Values::new().unwrap().with("x", &[count, 4], &rows(count).0).unwrap()
}

#[test]
fn a_model_goes_to_another_thread_and_gives_the_same_numbers() {
    let feeds = feeds(30);
    let losses = |mut model: Model, feeds: Values| -> Vec<f64> {
        (0..5).map(|_| model.train_step(&feeds).unwrap().scalar("loss").unwrap()).collect()
    };
    let other = model();
    let there = std::thread::spawn(move || losses(other, support::feeds(30)));
    assert_eq!(losses(model(), feeds), there.join().unwrap());
}

#[test]
fn finetuning_says_what_it_assumed_and_writes_a_model_that_classifies() {
    let (data, file) = (dataset(60), path("tuned.onnx"));
    let (mut lines, mut epochs, mut steps) = (Vec::new(), 0, 0);
    let bytes = network();
    let tuned = Finetune::new()
        .model(&bytes)
        .dataset(&data)
        .output(&file)
        .options(Options::new().with("epochs", 20).with("refit", "never"))
        .on_assumed(|line| lines.push(line.to_string()))
        .on_step(|report| {
            assert!(report.get("mean").get("loss").number().unwrap().is_finite());
            steps += 1;
            ControlFlow::Continue(())
        })
        .on_epoch(|report| {
            epochs += 1;
            assert_eq!(report.get("epoch").number(), Some(f64::from(epochs)));
            ControlFlow::Continue(())
        })
        .run()
        .unwrap();
    let accuracy = tuned.report.get("evaluation").get("metrics").get("accuracy");
    assert_eq!(accuracy.number(), Some(1.0));
    assert_eq!(tuned.report.get("output").text(), file.to_str());
    drop(tuned);
    assert!(lines.len() >= 2 && epochs == 20 && steps == 60, "{lines:?} {epochs} {steps}");
    let exported = Model::load(&file, &Options::new()).unwrap();
    let report = evaluate(&exported, &data, &Options::new()).unwrap();
    assert_eq!(report.get("metrics").get("accuracy").number(), Some(1.0));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_callback_ends_a_run_and_a_run_that_ends_early_writes_nothing() {
    let (data, file) = (dataset(60), path("never.onnx"));
    let tuned = Finetune::new()
        .dataset(&data)
        .output(&file)
        .on_step(|_| ControlFlow::Break(()))
        .run()
        .unwrap();
    assert_eq!(tuned.report.get("fit").get("reason").text(), Some("requested"));
    assert!(!file.exists());
}

struct Share {
    right: f64,
    rows: f64,
}

impl Metric for Share {
    fn begin(&mut self) {
        (self.right, self.rows) = (0.0, 0.0);
    }
    fn add(&mut self, outputs: &Lent<'_>, batch: &Lent<'_>) -> Result<()> {
        let (logits, labels) = (outputs.get("scores")?, batch.get("label")?);
        for (row, &label) in logits.as_slice::<f32>()?.chunks(3).zip(labels.as_slice::<i64>()?) {
            let best = (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
            self.right += f64::from(u8::from(best as i64 == label));
            self.rows += 1.0;
        }
        Ok(())
    }
    fn value(&mut self) -> Result<f64> {
        Ok(self.right / self.rows)
    }
}

#[test]
fn the_training_loop_reports_steps_and_epochs_and_computes_a_metric_of_the_caller() {
    let (mut model, data) = (model(), dataset(60));
    let (mut steps, mut shares) = (0, Vec::new());
    let options =
        Options::new().with("epochs", 8).with("batch-size", 10).with("validation-split", 0.5);
    let mut trainer = Trainer::new(&mut model, &options).unwrap();
    trainer
        .on_step(|_| {
            steps += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    trainer
        .on_epoch(|report| {
            let validation = report.get("validation");
            let number = |name| validation.get(name).number().unwrap();
            shares.push((number("share"), number("accuracy")));
            ControlFlow::Continue(())
        })
        .unwrap();
    trainer.add_metric("share", &[], Share { right: 0.0, rows: 0.0 }).unwrap();
    let report = trainer.fit(&data).unwrap();
    assert_eq!(report.get("reason").text(), Some("completed"));
    assert_eq!(trainer.model().steps().unwrap(), 24);
    drop(trainer);
    assert_eq!((steps, shares.len()), (24, 8));
    for (share, accuracy) in shares {
        assert!((share - accuracy).abs() < 1e-6);
    }
}

#[test]
fn rows_of_a_closure_train_as_the_same_rows_in_tensors() {
    let read = Arc::new(AtomicU64::new(0));
    let counter = read.clone();
    let (image, label) = rows(60);
    let columns = [Column::of::<f32>("x", &[4]), Column::of::<i64>("label", &[])];
    let given = Dataset::from_rows(
        &columns,
        60,
        move |row, out| {
            counter.fetch_add(1, Ordering::Relaxed);
            let at = row as usize;
            out.set(0, &image[4 * at..4 * at + 4])?;
            out.set(1, &label[at..at + 1])
        },
        &Options::new(),
    )
    .unwrap();
    let train = |data: &Dataset| {
        let mut model = model();
        let mut trainer = Trainer::new(&mut model, &Options::new().with("epochs", 2)).unwrap();
        let report = trainer.fit(data).unwrap();
        report.get("last").get("training").get("loss").number().unwrap()
    };
    assert_eq!(train(&given), train(&dataset(60)));
    assert!(read.load(Ordering::Relaxed) >= 120);
    drop(given);
    assert_eq!(Arc::strong_count(&read), 1, "the closure is gone with the data set");
}

#[test]
fn batches_are_feeds_and_come_in_the_order_of_seed_and_epoch() {
    let (mut model, data) = (model(), dataset(60));
    let order = BatchOrder { seed: 4, model: Some(&model), ..Default::default() };
    let batches = data.batches(20, order).unwrap();
    assert_eq!(batches.total().unwrap(), 3);
    let all: Vec<Values> = batches.collect::<Result<_>>().unwrap();
    assert_eq!(all.len(), 3);
    for batch in &all {
        model.train_step(batch).unwrap();
    }
    let again = data.batches(20, BatchOrder { seed: 4, ..Default::default() }).unwrap();
    let first = again.into_iter().next().unwrap().unwrap();
    let labels = |one: &Values| one.get("label").unwrap().as_slice::<i64>().unwrap().to_vec();
    assert_eq!(labels(&first), labels(&all[0]));
}

#[test]
fn a_checkpoint_weights_and_bytes_bring_the_state_back() {
    let (mut model, feeds) = (model(), feeds(30));
    let (checkpoint, weights) = (path("run.ckpt"), path("net.safetensors"));
    model.train_step(&feeds).unwrap();
    let state = model.parameters().unwrap();
    model.save_checkpoint(&checkpoint).unwrap();
    model.save_weights(&weights, false).unwrap();
    let clone = model.try_clone().unwrap();
    model.train_step(&feeds).unwrap();
    assert_ne!(model.parameters().unwrap(), state);
    assert!(has_checkpoint(&checkpoint).unwrap());
    model.restore_checkpoint(&checkpoint).unwrap();
    assert_eq!(model.parameters().unwrap(), state);
    assert_eq!(clone.parameters().unwrap(), state);
    model.set_parameters(&vec![0.0; state.len()]).unwrap();
    assert!(model.load_weights(&weights, false).unwrap().get("assigned").number().unwrap() > 0.0);
    assert_eq!(model.parameters().unwrap(), state);
    let again = Model::load(&model.training_bytes().unwrap(), &Options::new()).unwrap();
    assert_eq!(again.parameters().unwrap(), state);
    assert_eq!(again.fingerprint().unwrap(), model.fingerprint().unwrap());
    assert!(!model.inference_bytes().unwrap().is_empty());
    std::fs::remove_file(weights).unwrap();
    std::fs::remove_file(checkpoint).unwrap();
}

#[test]
fn values_of_all_kinds_come_back_as_they_were_given() {
    let vector = Value::from_vec(&[2, 2], vec![1.0f64, 2.0, 3.0, 4.0]).unwrap();
    let texts = Value::strings(&[2], &["a\0b", "ä"]).unwrap();
    assert_eq!(texts.to_strings().unwrap(), ["a\0b", "ä"]);
    let halves = Value::from_bytes(DType::BFLOAT16, &[3], &[0, 0x3f, 1, 0x40, 2, 0xc0]).unwrap();
    assert_eq!(halves.as_bytes().unwrap(), [0, 0x3f, 1, 0x40, 2, 0xc0]);
    let flags = Value::from_slice(&[3], &[true, false, true]).unwrap();
    assert_eq!(flags.to_bools().unwrap(), [true, false, true]);
    let sequence = Value::sequence(&[&vector, &texts]).unwrap();
    assert_eq!(sequence.kind().unwrap(), Kind::Sequence);
    drop(vector);
    let elements = sequence.elements().unwrap();
    assert_eq!(elements[0].as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let keys = Value::from_slice(&[2], &[7i64, 9]).unwrap();
    let map = Value::map(&keys, &[&flags, &halves]).unwrap();
    assert_eq!(map.keys().unwrap().as_slice::<i64>().unwrap(), [7, 9]);
    assert_eq!(Value::optional(None).unwrap().elements().unwrap().len(), 0);
    let scalar = Value::scalar(2.5f32).unwrap();
    let nonzero = Value::from_slice(&[1], &[2.5f32]).unwrap();
    let at = Value::from_slice(&[1], &[3i64]).unwrap();
    assert_eq!(Value::sparse(&nonzero, &at, &[2, 2]).unwrap().kind().unwrap(), Kind::SparseTensor);
    assert_eq!((scalar.dims().unwrap().len(), scalar.as_slice::<f32>().unwrap()), (0, &[2.5][..]));
    let mut values = Values::new().unwrap();
    values.set("one", &scalar).unwrap();
    assert_eq!(values.scalar("one").unwrap(), 2.5);
    assert_eq!(Value::zeros(DType::INT32, &[0, 3]).unwrap().as_slice::<i32>().unwrap(), []);
}

#[test]
fn models_say_what_they_are_and_what_calls_take() {
    let mut model = model();
    let about = model.describe().unwrap();
    assert_eq!(about.get("inputs").list()[0].get("name").text(), Some("x"));
    assert_eq!(model.prepare_report().get("trained").list().len(), 4);
    assert!(model.inspect("model", 0).unwrap().contains("Gemm"));
    let plan = model.plan(&feeds(8), Some(0), &[]).unwrap();
    assert!(plan.get("arena_bytes").number().unwrap() > 0.0);
    model.set_learning_rate(0, 0.5).unwrap();
    assert_eq!(model.learning_rate(0).unwrap(), 0.5);
    model.set_threads(1).unwrap();
    model.set_profiling(true).unwrap();
    assert!(!model.gradients(0, &feeds(8)).unwrap().names().unwrap().is_empty());
    model.infer(&feeds_of_images(8), &[]).unwrap();
    assert!(!model.profile().unwrap().list().is_empty());
    let table = option_table().unwrap();
    assert!(table.get("prepare").list().iter().any(|o| o.get("name").text() == Some("optimizer")));
    assert_eq!(version().split('.').count(), 3);
}

#[test]
fn a_worker_of_a_federation_answers_with_trained_arrays() {
    let (model, data) = (model(), dataset(60));
    let mut worker =
        FederatedWorker::new(&model, &data, &Options::new().with("epochs", 1), &Options::new())
            .unwrap();
    let mut arrays = Values::new().unwrap();
    for one in model.describe().unwrap().get("state").list() {
        if one.get("role").text() == Some("weight") {
            let name = one.get("name").text().unwrap();
            arrays.set(name, &model.state(name).unwrap()).unwrap();
        }
    }
    worker.on_wait(|| ControlFlow::Continue(())).unwrap();
    let (trained, answer) = worker.answer("train", Some(&arrays), None, None).unwrap();
    assert_eq!(answer.get("metrics").get("num-examples").number(), Some(60.0));
    assert_eq!(trained.unwrap().names().unwrap(), arrays.names().unwrap());
    let error = worker.answer("dance", None, None, None).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("dance"), "{error}");
}

#[test]
fn data_that_a_model_keeps_outside_comes_from_a_closure_whose_error_is_told() {
    let (whole, file) = (model(), path("outside.onnx"));
    whole.export_training(&file, &Options::new().with("external-data-from", 64)).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let folder = file.parent().unwrap().to_path_buf();
    let read = move |location: &str, offset: u64, to: &mut [u8]| {
        let data = std::fs::read(folder.join(location)).unwrap();
        to.copy_from_slice(&data[offset as usize..offset as usize + to.len()]);
        Ok(())
    };
    let loaded = Model::load_with_external_data(&bytes, read, &Options::new()).unwrap();
    assert_eq!(loaded.parameters().unwrap(), whole.parameters().unwrap());
    let nobody = |_: &str, _: u64, _: &mut [u8]| Err(Error::new(Code::Io, "the disk is gone"));
    let error = Model::load_with_external_data(&bytes, nobody, &Options::new()).map(|_| ());
    assert!(error.unwrap_err().to_string().contains("the disk is gone"));
}
