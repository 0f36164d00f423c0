"""Data sets, the training loop and evaluation."""

import numpy as np
import ondine_train as ondine
import pytest


@pytest.fixture
def model(models):
    return ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", optimizer="adam",
                          learning_rate=0.1, init="keep")  # fmt: skip


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 120)
    image = rng.normal(size=(120, 4)).astype(np.float32)
    image[np.arange(120), label] += 4
    return {"image": image, "label": label}


def test_a_run_learns_and_reports(model, rows):
    trainer = ondine.Trainer(model, epochs=5, batch_size=16, validation_split=0.25)
    steps, epochs = [], []
    trainer.on_step(steps.append)
    trainer.on_epoch(epochs.append)
    trainer.add_metric("largest", lambda outputs, batch: outputs["logits"].max())
    history = trainer.fit(rows)
    assert history.reason == "completed" and len(history) == 5
    assert list(history) == epochs and len(steps) == 5 * 6
    assert history.metric("val_accuracy")[-1] > 0.9
    assert history.metric("loss")[-1] < history.metric("loss")[0]
    assert history.metric("val_largest")[-1] > 0
    assert "val_accuracy" in repr(history) and history._repr_html_().startswith("<table>")
    assert trainer.evaluate(rows)["metrics"]["accuracy"] > 0.9
    assert ondine.evaluate(model, rows)["metrics"]["accuracy"] > 0.9
    by_class = ondine.evaluate(model, rows, metrics=["confusion_matrix"])
    assert np.array(by_class["confusion"]["counts"]).sum() == 120


def test_callbacks_end_a_run_and_raise(model, rows):
    trainer = ondine.Trainer(model, epochs=50, batch_size=16)
    trainer.on_step(lambda report: report["step"] < 3)
    assert trainer.fit(rows).reason == "requested"
    trainer = ondine.Trainer(model, epochs=50, batch_size=16)

    def fail(report):
        raise KeyError("from a callback")

    trainer.on_epoch(fail)
    with pytest.raises(KeyError, match="from a callback"):
        trainer.fit(rows)

    class Broken:
        def begin(self):
            pass

        def add(self, outputs, batch):
            raise ZeroDivisionError

        def value(self):
            return 0.0

    trainer = ondine.Trainer(model, epochs=1, validation_split=0.5)
    trainer.add_metric("broken", Broken())
    with pytest.raises(ZeroDivisionError):
        trainer.fit(rows)


def test_checkpoints_resume(model, rows, tmp_path):
    file = tmp_path / "run.ckpt"
    ondine.Trainer(model, epochs=2, checkpoint=file).fit(rows)
    assert ondine.has_checkpoint(file)
    with pytest.raises(ondine.ExistsError):
        ondine.Trainer(model, epochs=3, checkpoint=file).fit(rows)
    assert len(ondine.Trainer(model, epochs=3, checkpoint=file, resume=True).fit(rows)) == 1


def test_data_of_every_kind(model, rows, tmp_path):
    np.savez(tmp_path / "rows.npz", **rows)
    data = ondine.Dataset.open(tmp_path / "rows.npz", model)
    assert len(data) == 120 and data.describe()["class_counts"][0] > 0
    first, second = data.split(0.25)
    assert (len(first), len(second)) == (90, 30)
    seen = 0
    for batch in data.batches(50, model=model, seed=3):
        seen += len(batch["label"])
        model.train_step(batch)
    assert seen == 120
    generated = ondine.Dataset.from_rows(
        {"image": rows["image"][i], "label": rows["label"][i]} for i in range(10)
    )
    np.testing.assert_array_equal(
        next(generated.batches(10, shuffle=False))["image"], rows["image"][:10]
    )
    with pytest.raises(ValueError, match="there are no rows"):
        ondine.Dataset.from_rows([])
    with pytest.raises(ondine.NotFoundError):
        ondine.Dataset.open(tmp_path / "none.npz")


def test_rows_of_a_source_are_read_when_they_are_needed(model, rows):
    class Source:
        reads = 0

        def __len__(self):
            return 20

        def __getitem__(self, row):
            self.reads += 1
            if row == self.broken:
                raise LookupError(f"no row {row}")
            return {"image": rows["image"][row], "label": rows["label"][row]}

        broken = -1

    source = Source()
    data = ondine.Dataset.from_source(source)
    assert len(data) == 20 and source.reads == 1
    state = model.state_dict()
    ondine.Trainer(model, epochs=2, batch_size=8).fit(data)
    # Two epochs, and both columns for the fingerprint in the data record.
    assert source.reads == 1 + 2 * 20 + 2 * 20
    learned = model.state_dict()
    model.set_state(state)
    few = {name: array[:20] for name, array in rows.items()}
    ondine.Trainer(model, epochs=2, batch_size=8).fit(few)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, learned[name])
    source.broken = 7
    with pytest.raises(LookupError, match="no row 7"):
        ondine.Trainer(model, epochs=1, batch_size=8).fit(data)
    source.broken = -1
    ondine.Trainer(model, epochs=1, batch_size=8).fit(data)
    with pytest.raises(ValueError, match="there are no rows"):
        ondine.Dataset.from_source([])


def test_cross_validation_is_an_option(model, rows):
    trainer = ondine.Trainer(model, epochs=2, folds=3)
    told = []
    trainer.on_epoch(lambda report: told.append(report["fold"]))
    history = trainer.fit(rows)
    assert told == [1, 1, 2, 2, 3, 3, 0, 0]
    assert len(history.report["folds"]) == 3
    assert "loss" in history.report["fold_mean"] and "loss" in history.report["fold_deviation"]


def test_a_metric_that_is_not_finite_has_its_code(model, rows):
    model.set_state({"w": np.full((4, 3), np.nan, np.float32)})
    with pytest.raises(ondine.NotFiniteError, match="in epoch 1, step 1"):
        ondine.Trainer(model, epochs=1).fit(rows)
