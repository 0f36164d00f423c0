//! Bad input is an error with the message of the library, and panics of callbacks go on.
mod support;

use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

use ondine::*;
use support::*;

fn refused<T>(result: Result<T>, code: Code, message: &str) {
    match result {
        Ok(_) => panic!("no error, but {message} is needed"),
        Err(error) => {
            assert!(error.to_string().contains(message), "{error}\nhas no '{message}'");
            assert_eq!(error.code(), code, "{error}");
        }
    }
}

#[test]
fn a_wrong_element_type_name_size_or_number_names_the_input() {
    let mut model = model();
    let image = rows(4).0;
    let step = |model: &mut Model, values: Result<Values>| model.train_step(&values.unwrap());
    let wide = || Values::new().unwrap().with("label", &[4], &[0i64, 1, 2, 0]).unwrap();
    refused(step(&mut model, wide().with("x", &[4, 4], &[0f64; 16])), Code::Mismatch, "x");
    refused(step(&mut model, wide().with("x", &[2, 8], &image)), Code::Mismatch, "x");
    refused(step(&mut model, wide().with("picture", &[4, 4], &image)), Code::NotFound, "picture");
    refused(step(&mut model, Ok(wide())), Code::Mismatch, "x");
    refused(
        wide().with("x", &[4, 4], &image[1..]),
        Code::Mismatch,
        "16 elements; the slice has 15",
    );
    refused(wide().with("x\0y", &[4, 4], &image), Code::Mismatch, "NUL");
    refused(Value::from_slice(&[usize::MAX, 2], &image), Code::Mismatch, "too large");
    refused(Value::from_bytes(DType::BOOL, &[1], &[7]), Code::Mismatch, "bool");
    refused(Value::zeros(DType::from_number(77), &[1]), Code::Mismatch, "77");
    refused(Value::zeros(DType::FLOAT64, &[1 << 40, 1 << 20]), Code::Limit, "");
    refused(Value::scalar(1f32).unwrap().as_slice::<i32>(), Code::Mismatch, "type 1, not 6");
    refused(Value::strings(&[1], &["a"]).unwrap().as_bytes(), Code::Mismatch, "string");
    refused(Value::optional(None).unwrap().dims(), Code::Mismatch, "");
    refused(model.state("nobody"), Code::NotFound, "nobody");
    refused(model.infer(&wide(), &["none"]), Code::NotFound, "");
    refused(model.train_step_of(9, &feeds(4), &[]), Code::NotFound, "algorithm");
    refused(model.set_parameters(&[1.0]), Code::Mismatch, "");
    assert_eq!(model.steps().unwrap(), 0, "none of them trained");
}

#[test]
fn options_are_checked_by_the_table_of_the_library() {
    let bytes = network();
    let with = |name, value| {
        Model::prepare(
            &bytes,
            &Options::new().with("loss", "mse").with(name, value),
            &Options::new(),
        )
    };
    refused(with("learning-rat", "1"), Code::InvalidOption, "learning-rat");
    refused(with("beta1", "0.9"), Code::InvalidOption, "beta1");
    refused(with("learning-rate", "fast"), Code::InvalidOption, "learning-rate");
    refused(with("optimizer", "a\0b"), Code::InvalidOption, "NUL");
}

#[test]
fn files_that_are_missing_or_damaged_are_refused() {
    refused(Model::load("none.onnx", &Options::new()), Code::NotFound, "none.onnx");
    refused(Model::load(&vec![1u8, 2, 3], &Options::new()), Code::InvalidModel, "");
    refused(Dataset::open(&["none.csv"], &Options::new()), Code::NotFound, "none.csv");
    refused(Dataset::open::<&str>(&[], &Options::new()), Code::Mismatch, "no place");
    refused(Finetune::new().run(), Code::Mismatch, "there are no data");
    refused(Finetune::new().data(&["none.csv"]).run(), Code::NotFound, "none.csv");
    refused(new_network(Some("gan"), &dataset(6), &Options::new()), Code::Mismatch, "mlp, cnn");
    refused(dataset(6).batches(0, BatchOrder::default()), Code::Mismatch, "at least one row");
}

#[test]
fn a_second_training_step_beside_a_run_and_what_was_dropped_are_refused() {
    let (mut model, data) = (model(), dataset(60));
    let mut trainer = Trainer::new(&mut model, &Options::new().with("epochs", 500)).unwrap();
    let controls = trainer.controls();
    trainer
        .on_epoch(move |_| {
            controls.request_stop().unwrap();
            ControlFlow::Continue(())
        })
        .unwrap();
    let report = trainer.fit(&data).unwrap();
    assert_eq!(report.get("reason").text(), Some("requested"));
    drop(trainer);
    refused(controls.request_stop(), Code::Mismatch, "trainer was freed");
    drop(model);
    refused(controls.set_learning_rate(0, 1.0), Code::Mismatch, "model was freed");
}

#[test]
fn a_run_is_stopped_from_another_thread() {
    let (mut model, data) = (model(), dataset(60));
    let mut trainer = Trainer::new(&mut model, &Options::new().with("epochs", 1_000_000)).unwrap();
    let controls = trainer.controls();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        controls.request_stop().unwrap();
    });
    assert_eq!(trainer.fit(&data).unwrap().get("reason").text(), Some("requested"));
    other.join().unwrap();
}

#[test]
fn a_flag_and_a_deadline_end_calls() {
    let (mut model, feeds) = (model(), feeds(30));
    let cancel = Cancel::new().unwrap();
    model.set_cancel(Some(&cancel)).unwrap();
    let other = cancel.clone();
    std::thread::spawn(move || other.request().unwrap()).join().unwrap();
    refused(model.train_step(&feeds), Code::Cancelled, "");
    cancel.reset().unwrap();
    model.train_step(&feeds).unwrap();
    model.set_deadline(Some(Duration::ZERO)).unwrap();
    refused(model.train_step(&feeds), Code::Limit, "");
    model.set_deadline(None).unwrap();
    model.train_step(&feeds).unwrap();
}

fn panics(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
    payload.downcast_ref::<&str>().map(|one| one.to_string()).expect("with a text")
}

#[test]
fn a_panic_of_a_callback_comes_out_of_the_call() {
    let data = dataset(60);
    let text =
        panics(|| drop(Finetune::new().dataset(&data).on_step(|_| panic!("in a step")).run()));
    assert_eq!(text, "in a step");
    let text =
        panics(|| drop(Finetune::new().dataset(&data).on_assumed(|_| panic!("aloud")).run()));
    assert_eq!(text, "aloud");
    let mut model = model();
    let mut trainer = Trainer::new(&mut model, &Options::new()).unwrap();
    trainer.on_epoch(|_| panic!("in an epoch")).unwrap();
    assert_eq!(panics(|| drop(trainer.fit(&data))), "in an epoch");
    let column = [Column::of::<f32>("x", &[1])];
    let rows = Dataset::from_rows(&column, 9, |_, _| panic!("in a row"), &Options::new()).unwrap();
    let read = || drop(rows.batches(3, BatchOrder::default()).unwrap().next());
    assert_eq!(panics(read), "in a row");
}

#[test]
fn an_error_of_a_row_or_metric_is_part_of_the_error_of_the_call() {
    let columns = [Column::of::<f32>("x", &[4]), Column::of::<i64>("label", &[])];
    let rows = Dataset::from_rows(
        &columns,
        9,
        |row, out| {
            if row == 5 {
                return Err(Error::new(Code::Io, "the sensor is off"));
            }
            out.set(1, &[0i64])
        },
        &Options::new(),
    )
    .unwrap();
    let first = rows.batches(9, BatchOrder::default()).unwrap().next().unwrap();
    refused(first, Code::Cancelled, "the sensor is off");
    let wrong = Dataset::from_rows(&columns, 9, |_, out| out.set(0, &[1i32; 4]), &Options::new());
    let first = wrong.unwrap().batches(9, BatchOrder::default()).unwrap().next().unwrap();
    refused(first, Code::Cancelled, "column 0 has elements of type 1, not 6");
    let wrong = Dataset::from_rows(&columns, 9, |_, out| out.set(7, &[1i32]), &Options::new());
    let first = wrong.unwrap().batches(9, BatchOrder::default()).unwrap().next().unwrap();
    refused(first, Code::Cancelled, "no column 7 of 2");
    struct Broken;
    impl Metric for Broken {
        fn begin(&mut self) {}
        fn add(&mut self, _: &Lent<'_>, batch: &Lent<'_>) -> Result<()> {
            batch.get("nothing").map(|_| ())
        }
        fn value(&mut self) -> Result<f64> {
            Ok(0.0)
        }
    }
    let mut model = model();
    let options = Options::new().with("validation-split", 0.5);
    let mut trainer = Trainer::new(&mut model, &options).unwrap();
    trainer.add_metric("broken", &[], Broken).unwrap();
    refused(trainer.fit(&dataset(20)), Code::Cancelled, "'nothing'");
}

#[test]
fn progress_and_warnings_are_told_and_progress_ends_a_call() {
    let mut model = model();
    model.on_warning(|_| {}).unwrap();
    model.on_progress(|_| ControlFlow::Break(())).unwrap();
    // At most about every 10 ms: a call that is long enough asks.
    let (count, image) = (60_000, vec![0.5f32; 240_000]);
    let feeds = Values::new().unwrap().with("x", &[count, 4], &image).unwrap();
    let ended = (0..50).find_map(|_| model.infer(&feeds, &[]).err());
    refused(ended.map_or(Ok(()), Err), Code::Cancelled, "");
}
