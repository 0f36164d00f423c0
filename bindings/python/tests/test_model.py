"""Models against numpy."""

import gc
import pickle
import threading

import numpy as np
import ondine_train as ondine
import pytest
from ondine_train import _ondine


def prepared(models, **options):
    return ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", optimizer="sgd",
                          learning_rate=0.5, init="keep", **options)  # fmt: skip


def softmax_loss(x, w, b, label):
    """Loss and derivatives by w and b."""
    logits = x.astype(np.float64) @ w + b
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(x)), label]).mean()
    d = p.copy()
    d[np.arange(len(x)), label] -= 1
    d /= len(x)
    return loss, x.T @ d, d.sum(axis=0)


def test_steps_follow_numpy(models, batch):
    model = prepared(models)
    w, b = np.zeros((4, 3)), np.zeros(3)
    for _ in range(5):
        loss, dw, db = softmax_loss(batch["image"], w, b, batch["label"])
        gradients = model.gradients(batch)
        np.testing.assert_allclose(gradients["w"], dw, atol=1e-6)
        np.testing.assert_allclose(gradients["b"], db, atol=1e-6)
        assert model.eval_step(batch)["loss"] == pytest.approx(loss, abs=1e-6)
        results = model.train_step(batch)
        assert isinstance(results["loss"], np.float32)
        assert results["loss"] == pytest.approx(loss, abs=1e-6)
        w, b = w - 0.5 * dw, b - 0.5 * db
    np.testing.assert_allclose(model.get_state("w"), w, atol=1e-5)
    logits = model.infer({"image": batch["image"]})["logits"]
    np.testing.assert_allclose(logits, batch["image"] @ w + b, atol=1e-5)
    assert model.steps == 5


def test_state_and_files(models, batch, tmp_path):
    model = prepared(models)
    model.train_step(batch)
    state = model.state_dict()
    assert state.keys() == {"w", "b"}
    model.save_checkpoint(tmp_path / "run.ckpt")
    clone = model.clone()
    model.set_state({"w": np.ones((4, 3), np.float32)})
    assert (model.get_state("w") == 1).all()
    model.restore_checkpoint(tmp_path / "run.ckpt")
    np.testing.assert_array_equal(model.get_state("w"), clone.get_state("w"))
    model.save_weights(tmp_path / "w.safetensors")
    assert clone.load_weights(tmp_path / "w.safetensors")["assigned"] == 2
    model.export(tmp_path / "tuned.onnx")
    with ondine.load(tmp_path / "tuned.onnx", threads=1) as tuned:
        assert tuned.inputs[0].type == "tensor(float)[N, 4]"
        assert tuned.inputs[0].dims == (-1, 4)
    with pytest.raises(ondine.MismatchError, match="the model was freed"):
        tuned.infer({"image": batch["image"]})
    assert ondine.load(model.export_bytes()).outputs[0].name == "logits"
    assert ondine.check(tmp_path / "tuned.onnx") == []


def test_pickling_goes_on_with_the_same_bits(models, batch):
    model = prepared(models)
    model.initialize(7)
    model.train_step(batch)
    model.learning_rate = 0.125
    copy = pickle.loads(pickle.dumps(model))
    assert copy.steps == 1 and copy.learning_rate == 0.125
    for one in (model, copy):
        one.train_step(batch)
    np.testing.assert_array_equal(model.get_state("w"), copy.get_state("w"))


def test_nothing_is_copied_unless_it_may_be(models, batch):
    model = prepared(models)
    image, label = batch["image"], batch["label"]
    with pytest.raises(ValueError, match="'image': the array is not in row-major order"):
        model.train_step({"image": np.asfortranarray(image * 2), "label": label})
    with pytest.raises(TypeError, match="'label' is a list, not an array"):
        model.train_step({"image": image, "label": [0, 1, 2, 0]})
    with pytest.raises(ondine.MismatchError, match="image"):
        model.train_step({"image": image.astype(np.float64), "label": label})
    lax = {"image": np.asfortranarray(image.astype(np.float64)), "label": [0, 1, 2, 0]}
    expected = model.eval_step(batch)["loss"]
    assert model.eval_step(lax, copy=True)["loss"] == expected
    with pytest.raises(ValueError, match="numbers that float32 cannot hold"):
        model.eval_step({"image": np.eye(4, dtype=np.int64) * (2**40 + 1), "label": label},
                        copy=True)  # fmt: skip
    with pytest.raises(TypeError):
        model.eval_step({"image": image, "label": label + 0.5}, copy=True)


def test_arrays_are_shared(models, batch):
    """What a data set takes and what a call gives lie where the arrays say."""
    image = np.zeros((1000, 4), np.float32)
    data = ondine.Dataset.from_arrays({"image": image, "label": np.zeros(1000, np.int64)})
    image[7] = 3
    assert next(data.batches(10, shuffle=False))["image"][7, 0] == 3
    model = prepared(models)
    logits = model.infer({"image": image})["logits"]
    assert logits.base is not None and logits.flags.writeable


def test_read_only_arrays_and_memoryviews_are_taken(models, batch):
    model = prepared(models)
    image = batch["image"].copy()
    image.flags.writeable = False
    assert model.eval_step({"image": image, "label": batch["label"]})["loss"] > 1
    assert model.eval_step({"image": memoryview(image), "label": batch["label"]})["loss"] > 1


def test_errors_have_codes(models, batch):
    with pytest.raises(ondine.NotFoundError) as caught:
        ondine.load("none.onnx")
    assert caught.value.code == "not_found" and caught.value.number == 10
    assert isinstance(caught.value, LookupError)
    with pytest.raises(ondine.InvalidOptionError, match="learning"):
        ondine.prepare(models / "net.onnx", loss="mse", learning_rat=1)
    with pytest.raises(ondine.InvalidOptionError, match="momentum does not apply"):
        ondine.prepare(models / "net.onnx", loss="mse", optimizer="adam", momentum=0.9)
    with pytest.raises(ondine.InvalidModelError) as caught:
        ondine.load(b"no model")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    model = prepared(models)
    with pytest.raises(ondine.NotFoundError, match="there is no input 'x'"):
        model.infer({"x": batch["image"]})
    with pytest.raises(ondine.NotFoundError, match="there is no algorithm 3"):
        model.train_step(batch, 3)
    with pytest.raises(ondine.MismatchError, match="must be a finite number"):
        model.learning_rate = float("inf")


def test_threads_share_a_model(models, batch):
    model = prepared(models)
    problems = []

    def evaluate():
        for _ in range(50):
            try:
                model.eval_step(batch)
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=evaluate) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        model.train_step(batch)
    for thread in threads:
        thread.join()
    assert problems == [] and model.steps == 50


def test_options_are_those_of_the_library(models):
    import inspect

    parameters = inspect.signature(ondine.prepare).parameters
    for option in ondine.options("prepare"):
        assert option["name"].replace("-", "_") in parameters
    assert "learning_rate" in (ondine.prepare.__doc__ or "")
    assert "threads" in parameters


def test_nothing_leaks(models, batch):
    def work():
        model = prepared(models)
        for _ in range(3):
            model.train_step(batch)
        data = ondine.Dataset.from_arrays(batch)
        trainer = ondine.Trainer(model, epochs=1)
        trainer.on_step(lambda report: trainer.model is model)
        trainer.fit(data)

    gc.collect()
    before = _ondine.live_handles()
    work()
    gc.collect()
    assert _ondine.live_handles() == before
