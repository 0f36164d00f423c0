#!/usr/bin/env python3
"""Runs the commands of docs/hugging-face.md in their order, in a folder with small networks in the
place of those that the page names and a few conversations.

  hugging_face.py DOCUMENT BIN WORK
"""
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

GENAI = (pathlib.Path(__file__).resolve().parents[1]
         / "trainer/hugging_face/data/genai")  # as its model builder writes folders
WIDTH, INNER, HEADS, LAYERS = 16, 24, 2, 2
SPECIAL = ["[UNK]", "<|im_start|>", "<|im_end|>"]
WORDS = ["user", "assistant", "Hello", "sunny", "rainy", "what", "is", "the", "weather", "today", "it"]
TEMPLATE = ("{% for message in messages %}<|im_start|> {{ message['role'] }} {{ message['content'] }}"
            " <|im_end|> {% endfor %}{% if add_generation_prompt %}<|im_start|> assistant {% endif %}")


def write_weights(file):
    size = len(SPECIAL) + len(WORDS)
    shapes = {"model.embed_tokens.weight": [size, WIDTH], "model.norm.weight": [WIDTH]}
    for layer in range(LAYERS):
        path = f"model.layers.{layer}."
        for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
            shapes[f"{path}self_attn.{part}.weight"] = [WIDTH, WIDTH]
        for part in ("gate_proj", "up_proj"):
            shapes[f"{path}mlp.{part}.weight"] = [INNER, WIDTH]
        shapes[f"{path}mlp.down_proj.weight"] = [WIDTH, INNER]
        for part in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{path}{part}.weight"] = [WIDTH]
    header, elements = {}, b""
    for number, (name, shape) in enumerate(shapes.items()):
        count = math.prod(shape)
        values = [1.0 if len(shape) == 1 else 0.4 * math.sin(0.37 * i * i + number)
                  for i in range(count)]
        begin = len(elements)
        elements += struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(elements)]}
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + elements)


def write_folder(folder):
    folder.mkdir()
    write_weights(folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "vocab_size": len(SPECIAL) + len(WORDS),
        "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "tie_word_embeddings": True, "eos_token_id": 2}))
    added = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i, text in enumerate(SPECIAL)]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 20,
                  "vocab": {text: i for i, text in enumerate(SPECIAL + WORDS)}}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))


def write_conversations(file):
    lines = []
    for i in range(16):
        answer = "it is sunny" if i % 2 else "it is rainy today"
        question = "what is the weather" if i % 2 else "Hello what is it today"
        lines.append(json.dumps({"messages": [{"role": "user", "content": question},
                                              {"role": "assistant", "content": answer}]}))
    file.write_text("\n".join(lines) + "\n")


def main():
    document, binaries, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    write_folder(work / "SmolLM2-135M-Instruct")
    shutil.copytree(GENAI, work / "phi-int4")
    write_conversations(work / "conversations.jsonl")
    environment = dict(os.environ, PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}")
    blocks = re.findall(r"```sh\n(.*?)```", document.read_text(), re.S)
    if len(blocks) < 2:
        sys.exit("the page has lost its commands")
    for code in blocks:
        done = subprocess.run(["sh", "-ec", code], cwd=work, env=environment, text=True,
                              capture_output=True)
        print(done.stdout + done.stderr)
        if done.returncode:
            sys.exit(f"this failed:\n{code}")
        # The model builder of onnxruntime-genai declares a constant as what it is not.
        if "warning: " in done.stderr and "phi-int4" not in code:
            sys.exit(f"this warns:\n{code}")
    # The adapters are the same in both files, and so is what they write.
    texts = [subprocess.run([binaries / "ondine", "generate", name, "--prompt", "Hello",
                             "--temperature", "0", "--max-tokens", "12", "--quiet"], cwd=work,
                            text=True, capture_output=True, check=True).stdout
             for name in ("tuned.onnx", "speaking.onnx")]
    if texts[0] != texts[1]:
        sys.exit(f"the texts differ: {texts}")


if __name__ == "__main__":
    main()
