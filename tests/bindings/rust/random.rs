//! Calls in an order that a seed decides, with what fits and what does not. Seconds: the variable
//! ONDINE_RANDOM_SECONDS, else 2.
mod support;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ondine::*;
use support::*;

struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % sides as u64) as usize
    }
}

fn value(dice: &mut Dice, values: &[Value]) -> Result<Value> {
    let dims: Vec<usize> = (0..dice.below(4)).map(|_| dice.below(5)).collect();
    let count = dims.iter().product::<usize>() + usize::from(dice.below(8) == 0);
    match dice.below(9) {
        0 => Value::from_slice(&dims, &vec![0.5f32; count]),
        1 => Value::from_vec(&dims, vec![1i64; count]),
        2 => Value::strings(&dims, &vec!["text"; count]),
        3 => Value::from_bytes(DType::from_number(dice.below(30) as i32), &dims, &vec![1; count]),
        4 => Value::zeros(DType::from_number(dice.below(30) as i32), &dims),
        5 if !values.is_empty() => {
            Value::sequence(&[&values[dice.below(values.len())], &values[dice.below(values.len())]])
        }
        6 if !values.is_empty() => Value::optional(Some(&values[dice.below(values.len())])),
        7 if values.len() > 1 => Value::map(&values[0], &[&values[1]]),
        _ => Value::scalar(true),
    }
}

fn look(one: &Value) {
    let _ = (one.kind(), one.dims(), one.as_slice::<f32>().map(|all| all.iter().sum::<f32>()));
    let _ = (one.as_bytes().map(|all| all.len()), one.to_strings(), one.keys(), one.elements());
}

fn values_of(dice: &mut Dice, values: &[Value]) -> Result<Values> {
    let mut made = if dice.below(2) == 0 { feeds(1 + dice.below(20)) } else { Values::new()? };
    if !values.is_empty() && dice.below(3) == 0 {
        made.set(["x", "label", "w"][dice.below(3)], &values[dice.below(values.len())])?;
    }
    Ok(made)
}

fn call(dice: &mut Dice, models: &mut Vec<Model>, values: &[Value]) -> Result<()> {
    let given = values_of(dice, values)?;
    if models.is_empty() {
        models.push(model());
    }
    let index = dice.below(models.len());
    let one = &mut models[index];
    match dice.below(16) {
        0 => one.initialize(dice.below(9) as u64)?,
        1 => drop(one.infer(&given, &[])?),
        2 => drop(one.eval_step(&given)?),
        3 => one.set_state(&given)?,
        4 => drop(one.train_step_of(dice.below(2), &given, &["loss", "none"][..dice.below(3)])?),
        5 => {
            let clone = one.try_clone()?;
            models.push(clone);
        }
        6 => drop(models.remove(index)),
        7 => {
            let data = Dataset::from_values(&given, None, &Options::new())?;
            let mut trainer = Trainer::new(one, &Options::new().with("epochs", dice.below(3)))?;
            trainer.on_step(|_| ControlFlow::Break(()))?;
            trainer.fit(&data)?;
        }
        8 => {
            let mut bytes = one.training_bytes()?;
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
            models.push(Model::load(&bytes, &Options::new())?);
        }
        9 => drop(one.gradients(0, &given)?),
        10 => {
            let data = Dataset::from_values(&given, None, &Options::new())?;
            let (_, second) = data.split(0.3, 1)?;
            for batch in second.batches(dice.below(4) as u64, BatchOrder::default())? {
                one.train_step(&batch?)?;
            }
        }
        11 => drop(one.plan(&given, None, &[])?),
        _ => drop(one.train_step(&given)?),
    }
    Ok(())
}

#[test]
fn random_calls_give_results_or_errors() {
    let seconds = std::env::var("ONDINE_RANDOM_SECONDS").ok().and_then(|one| one.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(2));
    let seed = std::env::var("ONDINE_RANDOM_SEED").ok().and_then(|one| one.parse().ok());
    let mut dice = Dice(seed.unwrap_or(1));
    let (mut models, mut values) = (Vec::new(), Vec::new());
    let (mut calls, mut errors) = (0, 0);
    while Instant::now() < end {
        if let Ok(made) = value(&mut dice, &values) {
            look(&made);
            values.push(made);
        }
        if let Err(error) = call(&mut dice, &mut models, &values) {
            assert_ne!(error.code(), Code::Internal, "{error}");
            errors += 1;
        }
        calls += 1;
        if values.len() > 20 {
            values.remove(dice.below(20));
        }
        models.truncate(5);
    }
    println!("{calls} calls, {errors} errors");
    drop((models, values));
    assert!(calls > errors && errors > 0);
    assert_eq!(live_handles(), 0, "nothing is left");
}
