"""finetune() and new_network()."""

import inspect
import pathlib

import numpy as np
import ondine_train as ondine
import pytest


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 120)
    image = rng.normal(size=(120, 4)).astype(np.float32)
    image[np.arange(120), label] += 6
    return {"image": image, "label": label}


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(2)
    lines = ["width,length,species,price"]
    for i in range(90):
        kind = "abc"[i % 3]
        width, length = 20 + 10 * (i % 3) + rng.random(), 5 - i % 3 + rng.random()
        lines.append(f"{width:.3f},{length:.3f},{kind},{3 * width + length:.3f}")
    file = tmp_path / "table.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_network_is_tuned_and_written(models, rows, tmp_path):
    assumed, steps, epochs = [], [], []
    report = ondine.finetune(
        models / "net.onnx", rows, tmp_path / "tuned.onnx", epochs=12, learning_rate=0.05,
        refit="never", on_assumed=assumed.append, on_step=steps.append, on_epoch=epochs.append,
    )  # fmt: skip
    assert report.assumed == assumed and "3 classes" in assumed[0]
    assert report.metric == "accuracy" and report.metrics["accuracy"] > 0.9
    assert report.rows == (96, 24)
    assert len(report.history) == len(epochs) and len(steps) >= len(epochs)
    assert report.history.reason in ("completed", "early_stopping")
    assert report.history.metric("val_loss")[-1] < report.history.metric("val_loss")[0]
    assert report.report["output"] == str(tmp_path / "tuned.onnx")
    assert "accuracy" in repr(report)
    assert report.model.prepare_report["trained"]
    tuned = ondine.load(tmp_path / "tuned.onnx")
    np.testing.assert_allclose(
        tuned.infer({"image": rows["image"]})["logits"],
        report.model.infer({"image": rows["image"]})["logits"], rtol=1e-5, atol=1e-5,
    )  # fmt: skip
    assert ondine.evaluate(tuned, rows)["metrics"]["accuracy"] > 0.9
    again = ondine.finetune(tuned, rows, validation=rows, epochs=1)
    assert again.rows == (120, 120) and again.report["output"] == ""


def test_a_file_needs_no_network_and_takes_options_of_data(table, tmp_path):
    report = ondine.finetune(None, table, tmp_path / "species.onnx", drop="price", epochs=20,
                             target="species", learning_rate=0.02, seed=3)  # fmt: skip
    assert report.report["network"].startswith("mlp")
    assert report.metrics["accuracy"] > 0.9
    assert ondine.load(tmp_path / "species.onnx").classes == ["a", "b", "c"]
    prices = ondine.finetune(None, [table], drop=["species"], epochs=5, validation=table)
    assert prices.metric == "rmse" and prices.rows == (90, 90)


def test_adapters_of_a_tuned_network_are_merged(models, rows, tmp_path):
    first = ondine.finetune(models / "net.onnx", rows, tmp_path / "first.onnx", epochs=5)
    assert first.report["refit_rows"] == 120
    tuned = ondine.finetune(tmp_path / "first.onnx", rows, tmp_path / "tuned.onnx", epochs=2,
                            lora=2, lora_targets="w")  # fmt: skip
    assert len(tuned.report["prepared"]["trained"]) == 2
    names = [ondine.load(tmp_path / name).inspect("model").count("\n") for name in
             ("first.onnx", "tuned.onnx")]  # fmt: skip
    assert names[0] == names[1]


def test_callbacks_end_a_run_and_raise(models, rows, tmp_path):
    file = tmp_path / "tuned.onnx"
    stopped = ondine.finetune(models / "net.onnx", rows, file,
                              on_step=lambda report: report["step"] < 3)  # fmt: skip
    assert stopped.history.reason == "requested" and not file.exists()
    stopped = ondine.finetune(models / "net.onnx", rows, file, on_epoch=lambda report: False)
    assert stopped.history.reason == "requested" and len(stopped.history) == 1

    def fail(report):
        raise KeyError("from a callback")

    for name in ("on_assumed", "on_step", "on_epoch"):
        with pytest.raises(KeyError, match="from a callback"):
            ondine.finetune(models / "net.onnx", rows, file, **{name: fail})
    assert not file.exists()


def test_folds_have_their_reports(models, rows):
    told = []
    report = ondine.finetune(models / "net.onnx", rows, epochs=2, folds=3,
                             on_epoch=lambda report: told.append(report["fold"]))  # fmt: skip
    assert told == [1, 1, 2, 2, 3, 3, 0, 0]
    assert len(report.report["fit"]["folds"]) == 3 and len(report.history) == 2


def test_options_are_those_of_the_library():
    parameters = inspect.signature(ondine.finetune).parameters
    for group in ("finetune", "data", "load"):
        for option in ondine.options(group):
            assert option["name"].replace("-", "_") in parameters
    for option in ondine.options("network"):
        assert option["name"].replace("-", "_") in inspect.signature(ondine.new_network).parameters


def test_what_is_wrong_is_said(models, rows, table):
    net = models / "net.onnx"
    with pytest.raises(ondine.InvalidOptionError, match="beta1 needs optimizer adam, adamw"):
        ondine.finetune(net, rows, beta1=0.5)
    with pytest.raises(ondine.InvalidOptionError, match="is no option of finetune; did you mean"):
        ondine.finetune(net, rows, epoch=3)
    with pytest.raises(ondine.InvalidOptionError, match="image_size has no effect"):
        ondine.finetune(net, ondine.Dataset.from_arrays(rows), image_size="8x8")
    with pytest.raises(ondine.InvalidOptionError, match="drop has no effect"):
        ondine.new_network(ondine.Dataset.from_arrays(rows), drop="label")
    with pytest.raises(ondine.NotFoundError):
        ondine.finetune("none.onnx", rows)
    with pytest.raises(ondine.MismatchError, match="a kind of network is for runs without a model"):
        ondine.finetune(net, rows, network="mlp")
    with pytest.raises(ondine.MismatchError, match="has training information already"):
        ondine.finetune(ondine.prepare(net, loss="mse"), rows)
    with pytest.raises(ondine.MismatchError, match="needs images"):
        ondine.new_network(table, "cnn", drop="species")


def test_new_networks_are_a_function_of_data_and_seed(rows, table):
    first = ondine.new_network(rows, "mlp", seed=1)
    assert first == ondine.new_network(ondine.Dataset.from_arrays(rows), seed=1)
    assert first != ondine.new_network(rows, seed=2)
    prices = ondine.load(ondine.new_network(table, target="price", drop="species", seed=1))
    assert prices.inputs[0].dims == (-1, 2)
    assert ondine.finetune(first, rows, epochs=1).report["network"] == ""


def test_the_quick_start_of_the_page_runs(table, tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).parents[3] / "docs" / "python.md").read_text()
    block = next(part for part in page.split("```python\n")[1:] if "finetune(" in part)
    code = block.split("```")[0]
    monkeypatch.chdir(tmp_path)
    flowers = [",".join(line.split(",")[:3]) for line in table.read_text().splitlines()]
    (tmp_path / "flowers.csv").write_text("\n".join(flowers) + "\n")
    (tmp_path / "net.onnx").write_bytes(ondine.new_network("flowers.csv"))
    exec(code, {})
    assert ondine.load("tuned.onnx").classes == ["a", "b", "c"]
