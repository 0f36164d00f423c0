"""The classes of onnxruntime.training.api: a loop as onnxruntime's documentation has it."""

import pathlib

import numpy as np
import ondine_train as ondine
import pytest
from ondine_train import training_api as api

# Artifacts of onnxruntime-training 1.19 and its losses, as tools/dev/check_import_ort.py makes them.
ARTIFACTS = pathlib.Path(__file__).parents[3] / "tests/trainer/import_ort/data"
LOSSES = [1.118974, 1.1040323, 1.0888752, 1.0735271, 1.0580156]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
LABELS = np.array([0, 2, 1, 2])


@pytest.fixture
def module():
    state = api.CheckpointState.load_checkpoint(ARTIFACTS / "saved")
    return api.Module(ARTIFACTS / "training_model.onnx", state, ARTIFACTS / "eval_model.onnx")


@pytest.fixture
def optimizer(module):
    optimizer = api.Optimizer(ARTIFACTS / "optimizer_model.onnx", module)
    optimizer.set_learning_rate(0.02)
    return optimizer


def step(module, optimizer):
    module.train()
    loss = module(X, LABELS)
    optimizer.step()
    module.lazy_reset_grad()
    return float(loss)


def test_the_loop_of_onnxruntime_gives_its_losses(module, optimizer):
    assert module.input_names() == ["x", "labels"]
    found = [step(module, optimizer) for _ in LOSSES]
    np.testing.assert_allclose(found, LOSSES, rtol=1e-5)
    module.eval()
    before = float(module(X, LABELS))
    assert before < LOSSES[-1]
    assert float(module(X, LABELS)) == before


def test_parameters_are_one_buffer(module, optimizer):
    assert module.get_parameters_size() == 27
    assert module.get_parameters_size(trainable_only=False) == 31
    first = module.get_contiguous_parameters(trainable_only=True)
    with pytest.raises(ondine.MismatchError, match="frozen parameters"):
        module.get_contiguous_parameters()
    step(module, optimizer)
    assert not np.array_equal(module.get_contiguous_parameters(trainable_only=True), first)
    module.copy_buffer_to_parameters(first)
    np.testing.assert_array_equal(module.get_contiguous_parameters(trainable_only=True), first)
    with pytest.raises(ondine.MismatchError, match="the buffer has 3 numbers, the parameters 27"):
        module.copy_buffer_to_parameters(np.zeros(3))


def test_what_would_differ_from_onnxruntime_is_refused(module, optimizer, tmp_path):
    with pytest.raises(ondine.MismatchError, match="needs a call of the module"):
        optimizer.step()
    module(X, LABELS)
    for ahead in (
        lambda: module(X, LABELS),
        module.lazy_reset_grad,
        module.get_contiguous_parameters,
        lambda: module.export_model_for_inferencing(tmp_path / "n.onnx", ["output"]),
        lambda: optimizer.set_learning_rate(1),
    ):
        with pytest.raises(ondine.MismatchError, match="optimizer.step"):
            ahead()
    optimizer.step()
    with pytest.raises(ondine.MismatchError, match="2 inputs, not 1"):
        module(X)
    with pytest.raises(ondine.MismatchError, match="outputs output, not logits"):
        module.export_model_for_inferencing(tmp_path / "n.onnx", ["logits"])
    module.export_model_for_inferencing(tmp_path / "n.onnx", ["output"])
    assert ondine.load(tmp_path / "n.onnx").infer({"x": X})["output"].shape == (4, 3)


def test_a_checkpoint_goes_on_where_it_was_saved(module, optimizer, tmp_path):
    step(module, optimizer)
    state = api.CheckpointState()
    with pytest.raises(ondine.MismatchError, match="no module"):
        api.CheckpointState.save_checkpoint(state, tmp_path / "run.ckpt")
    other = api.CheckpointState.load_checkpoint(ARTIFACTS / "checkpoint")
    first = api.Module(ARTIFACTS / "training_model.onnx", other)
    by = api.Optimizer(None, first)
    by.set_learning_rate(0.02)
    losses = [step(first, by) for _ in range(2)]
    api.CheckpointState.save_checkpoint(other, tmp_path / "run.ckpt")
    losses += [step(first, by) for _ in range(2)]
    again = api.Module(ARTIFACTS / "training_model.onnx",
                       api.CheckpointState.load_checkpoint(tmp_path / "run.ckpt"))  # fmt: skip
    by = api.Optimizer(None, again)
    by.set_learning_rate(0.02)
    assert [step(again, by) for _ in range(2)] == losses[2:]
    with pytest.raises(ondine.NotFoundError, match="none"):
        api.CheckpointState.load_checkpoint(tmp_path / "none")


def test_the_rate_rises_and_falls_along_a_line(module, optimizer):
    scheduler = api.LinearLRScheduler(optimizer, 4, 6, 0.1)  # the checkpoint has made two steps
    rates = [optimizer.get_learning_rate()]
    for _ in range(5):
        step(module, optimizer)
        scheduler.step()
        rates.append(optimizer.get_learning_rate())
    np.testing.assert_allclose(rates, [0.05, 0.075, 0.1, 0.05, 0, 0], atol=1e-7)
    with pytest.raises(ondine.MismatchError, match="below total_step_count"):
        api.LinearLRScheduler(optimizer, 6, 2, 0.1)


def test_a_training_model_of_ondine_is_a_module_too(models, tmp_path, batch):
    ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy",
                   learning_rate=0.5).export_training(tmp_path / "train.onnx")  # fmt: skip
    module = api.Module(tmp_path / "train.onnx", api.CheckpointState())
    optimizer = api.Optimizer(None, module)
    losses = []
    for _ in range(3):
        losses.append(float(module(batch["image"], batch["label"])))
        optimizer.step()
    assert losses[2] < losses[0]
    with pytest.raises(ondine.MismatchError, match="optimizer_uri has no effect"):
        api.Optimizer("optimizer_model.onnx", module)
    with pytest.raises(ondine.MismatchError, match="device 'cuda'"):
        api.Module(tmp_path / "train.onnx", api.CheckpointState(), device="cuda")
