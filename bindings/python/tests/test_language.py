"""Folders of Hugging Face, texts that a model writes, adapters and privacy."""

import json
import math
import struct

import numpy as np
import ondine_train as ondine
import pytest


@pytest.fixture
def letters(models):
    """Writes the byte that follows by its value."""
    return ondine.load(models / "bytes.onnx")


def test_text_is_written_and_heard(letters):
    writer = ondine.Generator(letters, temperature=0, max_tokens=5)
    heard = []
    report = writer.generate("a", on_text=heard.append)
    assert str(report) == "bcdef" and "".join(heard) == "bcdef"
    assert report.tokens == [98, 99, 100, 101, 102] and report.end == "max_tokens"
    assert writer.generate([97, 98]).text == "cdefg"
    assert writer.encode("ab").tolist() == [97, 98] and writer.decode([97, 98]) == "ab"
    short = writer.generate("a", on_text=lambda part: part != "c")
    assert short.end == "callback" and short.text == "bc"

    def fail(part):
        raise KeyError(part)

    with pytest.raises(KeyError):
        writer.generate("a", on_text=fail)


def test_an_answer_needs_a_template(letters):
    with pytest.raises(ondine.MismatchError, match="no chat template"):
        ondine.Generator(letters).answer("Who?")
    writer = ondine.Generator(letters, temperature=0, max_tokens=2, chat_template="chatml")
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": "Who?"}]
    assert writer.answer(messages).tokens == [11, 12]  # after the end of a line
    assert writer.answer("Who?").tokens == [11, 12]
    with pytest.raises(ValueError, match="role and content"):
        writer.answer([{"user": "Who?"}])
    with pytest.raises(ondine.InvalidOptionError, match="top-k"):
        ondine.Generator(letters, temperature=0, top_k=3)


def write_safetensors(file, tensors):
    header, at = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    parts = [struct.pack("<Q", len(text)), text, *(one.tobytes() for one in tensors.values())]
    file.write_bytes(b"".join(parts))


def test_a_folder_of_hugging_face_becomes_a_model(tmp_path):
    rng = np.random.default_rng(0)
    width, layer = 8, "transformer.h.0."
    shapes = {
        "transformer.wte.weight": (256, width), "transformer.wpe.weight": (12, width),
        layer + "ln_1.weight": (width,), layer + "ln_1.bias": (width,),
        layer + "attn.c_attn.weight": (width, 3 * width), layer + "attn.c_attn.bias": (3 * width,),
        layer + "attn.c_proj.weight": (width, width), layer + "attn.c_proj.bias": (width,),
        layer + "ln_2.weight": (width,), layer + "ln_2.bias": (width,),
        layer + "mlp.c_fc.weight": (width, 4 * width), layer + "mlp.c_fc.bias": (4 * width,),
        layer + "mlp.c_proj.weight": (4 * width, width), layer + "mlp.c_proj.bias": (width,),
        "transformer.ln_f.weight": (width,), "transformer.ln_f.bias": (width,),
    }  # fmt: skip
    folder = tmp_path / "gpt"
    folder.mkdir()
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    write_safetensors(folder / "model.safetensors", tensors)
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": width,
              "n_layer": 1, "n_head": 2, "n_positions": 12, "vocab_size": 256}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    report = ondine.import_hugging_face(folder, tmp_path / "gpt.onnx", cache=True)
    assert report["architecture"] == "GPT2LMHeadModel" and not report["has_tokenizer"]
    model = ondine.load(tmp_path / "gpt.onnx")
    assert ondine.Generator(model, temperature=0, max_tokens=3).generate([1, 2]).cache == "padded"
    with pytest.raises(ondine.InvalidOptionError, match="ids-only"):
        ondine.import_hugging_face(folder, tmp_path / "n.onnx", cache=True, ids_only=True)
    with pytest.raises(ondine.NotFoundError):
        ondine.import_hugging_face(tmp_path / "none", tmp_path / "n.onnx")


def test_adapters_are_kept_apart_from_their_base(models, batch, tmp_path):
    tuned = ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", lora=1,
                           lora_targets="w", learning_rate=0.5)  # fmt: skip
    assert [one["weight"] for one in tuned.adapters()] == ["w"]
    for _ in range(5):
        tuned.train_step(batch)
    tuned.save_adapters(tmp_path / "mine")
    expected = tuned.infer({"image": batch["image"]})["logits"]
    tuned.initialize(3)
    tuned.load_adapters(tmp_path / "mine")
    np.testing.assert_array_equal(tuned.infer({"image": batch["image"]})["logits"], expected)
    base = ondine.load(models / "net.onnx")
    assert base.adapters() == []
    both = base.with_adapters({"one": tmp_path / "mine", "two": tmp_path / "mine"})
    found = both.infer({"image": batch["image"], "adapter.two": np.float32(0)}, copy=True)
    np.testing.assert_allclose(found["logits"], expected, atol=1e-6)
    none = both.infer({"image": batch["image"], "adapter.one": np.float32(0),
                       "adapter.two": np.float32(0)}, copy=True)  # fmt: skip
    np.testing.assert_array_equal(none["logits"], base.infer({"image": batch["image"]})["logits"])


def test_privacy_is_known_and_counted(models):
    assert ondine.load(models / "net.onnx").privacy is None
    model = ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", dp_clip=0.5,
                           dp_noise=1.5, dp_batch=4)  # fmt: skip
    assert model.privacy == ondine.Privacy(0.5, 1.5, 4)
    spent = ondine.privacy_epsilon([(1.5, 0.01, 600), (1.5, 0.01, 400)], 1e-5)
    assert ondine.noise_for(spent, 1e-5, 0.01, 1000) == pytest.approx(1.5, abs=0.01)
    assert ondine.privacy_epsilon([(0, 0.01, 1)], 1e-5) == math.inf
