#!/usr/bin/env python3
"""Writes the case of genai_test.cpp: a folder as the model builder of onnxruntime-genai makes it of
a small Llama with weights of 4 bits, and scores that onnxruntime gives.

  record_genai.py FOLDER

Needs torch, transformers, onnx_ir, onnxruntime and the package onnxruntime-genai (written with
version 0.18)."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnxruntime
import tokenizers
import torch
import transformers

WORDS, LAYERS, HEAD_SIZE = 40, 2, 16
IDS = [[5, 9, 31, 7, 7, 20, 2, 39, 11, 6, 17, 3]]


def write_llama(folder):
    torch.manual_seed(4)
    network = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=LAYERS,
        num_attention_heads=2, num_key_value_heads=1, head_dim=HEAD_SIZE, eos_token_id=1,
        max_position_embeddings=64, initializer_range=0.4, bos_token_id=None, pad_token_id=1))
    network.generation_config.update(do_sample=True, temperature=0.8, top_k=7, top_p=0.9)
    network.save_pretrained(folder)
    words = ["[UNK]", "</s>", *(chr(ord("a") + i) for i in range(26)), "on", "er", "in", "st",
             "the", "and", "of", "##s", "##e", "##d", "##r", "##n"]
    model = tokenizers.models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["</s>"])
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer,
                                         eos_token="</s>").save_pretrained(folder)


def main(target):
    with tempfile.TemporaryDirectory() as name:
        write_llama(f"{name}/llama")
        # Level 1: activations stay float32.
        subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-m",
                        f"{name}/llama", "-o", target, "-p", "int4", "-e", "cpu", "-c", name,
                        "--extra_options", "accuracy_level=1"], check=True)
    session = onnxruntime.InferenceSession(str(target / "model.onnx"),
                                           providers=["CPUExecutionProvider"])
    ids = numpy.array(IDS, "int64")
    feeds = {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}
    for layer in range(LAYERS):
        for kind in ("key", "value"):
            feeds[f"past_key_values.{layer}.{kind}"] = numpy.zeros((1, 1, 0, HEAD_SIZE), "float32")
    scores = session.run(["logits"], feeds)[0]
    (target / "expected.json").write_text(json.dumps({
        "ids": IDS[0], "logits": [round(float(x), 6) for x in scores.ravel()]}))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
