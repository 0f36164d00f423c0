#!/usr/bin/env python3
"""The parts of pretraining that are not Ondine's:

make_model.py start TEXTS FOLDER        writes TEXTS/pretrain.txt and TEXTS/pretrain_val.txt, learns
                                        byte pairs from them, and draws the weights of a decoder
make_model.py finish TRAINED FOLDER OUT trained weights, .safetensors as `ondine export` writes them,
                                        become the folder OUT in float16

FOLDER and OUT are folders as Hugging Face distributes models. Needs numpy; start needs tokenizers."""
import json
import os
import shutil
import struct
import sys

import numpy

SEED = 58
VOCABULARY = 2048
END_OF_TEXT = "<|endoftext|>"
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": VOCABULARY,
    "hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 4,
    "num_attention_heads": 6, "num_key_value_heads": 6, "head_dim": 32, "hidden_act": "silu",
    "max_position_embeddings": 512, "rope_theta": 10000.0, "rms_norm_eps": 1e-5,
    "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True,
    "bos_token_id": None, "eos_token_id": 0, "torch_dtype": "float16"}


def write_safetensors(path, tensors):
    kinds = {"float16": "F16", "float32": "F32"}
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": kinds[tensor.dtype.name], "shape": list(tensor.shape),
                        "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        if entry["dtype"] != "F32":
            sys.exit(f"{path}: {name} is {entry['dtype']}, not F32")
        tensors[name] = numpy.frombuffer(data[first:last], "<f4").reshape(entry["shape"])
    return tensors


def blocks(path, size):
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    return ["".join(lines[at:at + size]).rstrip("\n") for at in range(0, len(lines), size)]


def write_texts(texts):
    """Forty verses or one definition, and the token that ends a text."""
    glosses = blocks(f"{texts}/glosses.txt", 1)
    validation = blocks(f"{texts}/king_james_val.txt", 40) + glosses[19::20]
    del glosses[19::20]
    for name, parts in (("pretrain", blocks(f"{texts}/king_james_train.txt", 40) + glosses),
                        ("pretrain_val", validation)):
        with open(f"{texts}/{name}.txt", "w", encoding="utf-8") as file:
            file.writelines(part + END_OF_TEXT for part in parts)


def write_tokenizer(texts, folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train([f"{texts}/king_james_train.txt", f"{texts}/glosses.txt"],
                    trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[END_OF_TEXT],
                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(f"{folder}/tokenizer.json")


def shapes():
    width, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    yield "model.embed_tokens.weight", (VOCABULARY, width)
    for number in range(CONFIG["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        yield f"{layer}.input_layernorm.weight", (width,)
        for part in "qkvo":
            yield f"{layer}.self_attn.{part}_proj.weight", (width, width)
        yield f"{layer}.post_attention_layernorm.weight", (width,)
        yield f"{layer}.mlp.gate_proj.weight", (inner, width)
        yield f"{layer}.mlp.up_proj.weight", (inner, width)
        yield f"{layer}.mlp.down_proj.weight", (width, inner)
    yield "model.norm.weight", (width,)


def start(texts, folder):
    os.makedirs(folder, exist_ok=True)
    write_texts(texts)
    write_tokenizer(texts, folder)
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        json.dump(CONFIG, file, indent=1)
    draw = numpy.random.default_rng(SEED)
    # The products that end in the sum over layers are smaller (Radford et al. 2019).
    ends = 0.02 / (2 * CONFIG["num_hidden_layers"]) ** 0.5
    tensors = {}
    for name, shape in shapes():
        deviation = ends if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.02
        values = numpy.ones(shape) if len(shape) == 1 else draw.normal(0, deviation, shape)
        tensors[name] = values.astype("<f4")
    write_safetensors(f"{folder}/model.safetensors", tensors)


def finish(trained, folder, out):
    found = read_safetensors(trained)
    tensors = {}
    for name, shape in shapes():
        tensor = found.pop(name)
        # Ondine keeps linear layers as [in, out].
        if len(shape) == 2 and name != "model.embed_tokens.weight":
            tensor = tensor.T
        if tensor.shape != shape:
            sys.exit(f"{trained}: {name} has the shape {tensor.shape}, not {shape}")
        tensors[name] = numpy.ascontiguousarray(tensor, "<f2")
    if found:
        sys.exit(f"{trained}: {', '.join(found)} left over")
    os.makedirs(out, exist_ok=True)
    write_safetensors(f"{out}/model.safetensors", tensors)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(f"{folder}/{name}", f"{out}/{name}")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "start":
        start(*sys.argv[2:])
    elif len(sys.argv) == 5 and sys.argv[1] == "finish":
        finish(*sys.argv[2:])
    else:
        sys.exit(__doc__)
