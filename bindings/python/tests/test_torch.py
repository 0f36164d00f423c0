"""Tensors of PyTorch by DLPack, and against its derivatives; skipped without torch."""

import numpy as np
import ondine_train as ondine
import pytest

torch = pytest.importorskip("torch")


def test_gradients_and_steps_are_those_of_torch(models):
    torch.manual_seed(1)
    layer = torch.nn.Linear(4, 3)
    image = torch.randn(8, 4)
    label = torch.randint(0, 3, (8,))
    model = ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", optimizer="sgd",
                           learning_rate=0.25, init="keep")  # fmt: skip
    model.set_state({"w": layer.weight.detach().T.numpy(), "b": layer.bias.detach().numpy()},
                    copy=True)  # fmt: skip
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.25)
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(layer(image), label)
        loss.backward()
        gradients = model.gradients({"image": image, "label": label})
        np.testing.assert_allclose(gradients["w"].T, layer.weight.grad, atol=1e-6)
        optimizer.step()
        ours = model.train_step({"image": image, "label": label})["loss"]
        assert ours == pytest.approx(loss.item(), abs=1e-6)
    np.testing.assert_allclose(model.get_state("w").T, layer.weight.detach(), atol=1e-5)


def test_tensors_are_not_copied(models):
    image = torch.zeros(4, 4)
    data = ondine.Dataset.from_arrays({"image": image, "label": torch.zeros(4, dtype=torch.int64)})
    image[2] = 5
    assert next(data.batches(4, shuffle=False))["image"][2, 0] == 5
    model = ondine.load(models / "net.onnx")
    with pytest.raises(ValueError, match="not in row-major order"):
        model.infer({"image": torch.randn(4, 4).T})
    assert model.infer({"image": torch.randn(4, 4).T}, copy=True)["logits"].shape == (4, 3)


def test_a_module_is_prepared_with_its_weights(tmp_path):
    pytest.importorskip("onnxscript")
    torch.manual_seed(2)
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    image = torch.randn(5, 4)
    model = ondine.prepare(module, image, loss="softmax-cross-entropy", init="keep")
    name = model.inputs[0].name
    logits = next(iter(model.infer({name: image}).values()))
    np.testing.assert_allclose(logits, module(image).detach(), atol=1e-6)
    with pytest.raises(TypeError, match="needs example_inputs"):
        ondine.prepare(module, loss="mse")
    with pytest.raises(TypeError, match="example_inputs have no effect"):
        ondine.prepare(tmp_path / "net.onnx", image, loss="mse")


def test_a_module_is_tuned(tmp_path):
    pytest.importorskip("onnxscript")
    torch.manual_seed(3)
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    label = np.arange(120) % 3
    image = np.random.default_rng(4).normal(size=(120, 4)).astype(np.float32)
    image[np.arange(120), label] += 6
    report = ondine.finetune(module, {"image": image, "label": label}, tmp_path / "tuned.onnx",
                             example_inputs=torch.randn(5, 4), epochs=12, refit="never",
                             learning_rate=0.05, map="input=image")  # fmt: skip
    assert report.metrics["accuracy"] > 0.9
    assert (tmp_path / "tuned.onnx").exists()
