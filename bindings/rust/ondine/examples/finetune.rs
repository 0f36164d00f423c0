//! Fine-tunes a network for a table and exports it: finetune TABLE OUTPUT [MODEL]. Without a model
//! it makes a new one.
use std::ops::ControlFlow;
use std::process::ExitCode;

use ondine::{evaluate, Dataset, Finetune, Json, Model, Options, Use};

fn run(table: &str, output: &str, model: Option<&str>) -> ondine::Result<()> {
    let mut tuning = Finetune::new()
        .data(&[table])
        .output(output)
        .options(Options::new().with("epochs", 20))
        .on_assumed(|line| println!("assumed: {line}"))
        .on_epoch(|report: &Json| {
            println!("epoch {}: loss {}", report.get("epoch"), report.get("training").get("loss"));
            ControlFlow::Continue(())
        });
    if let Some(file) = model {
        tuning = tuning.model(file);
    }
    let tuned = tuning.run()?;
    println!("{}", tuned.report.get("evaluation").get("metrics"));

    let exported = Model::load(output, &Options::new())?;
    let rows = Dataset::open_for(&[table], &exported, Use::Evaluation, &Options::new())?;
    let metrics = evaluate(&exported, &rows, &Options::new())?;
    println!("{output}: accuracy {}", metrics.get("metrics").get("accuracy"));
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match given[..] {
        [table, output] => run(table, output, None),
        [table, output, model] => run(table, output, Some(model)),
        _ => {
            eprintln!("finetune TABLE OUTPUT [MODEL]");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
