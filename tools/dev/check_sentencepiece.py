#!/usr/bin/env python3
"""Trains SentencePiece models with many options and compares, with the sentencepiece package, the
ids that the command line reads from texts and the texts that it samples. Needs sentencepiece, onnx
and numpy. CORPUS is any text of some hundred kilobytes, one sentence a line.

    tools/dev/check_sentencepiece.py build/bin/ondine CORPUS
"""
import csv
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import sentencepiece
from onnx import TensorProto, helper, numpy_helper

LENGTH = 400
SAMPLED = 120
PROMPTS = 12

RULES = "41\t61\n42\t62 62\nDF\t73 73\n2E 2E 2E\t2026\n9\t20\n31 32\t\n"
MODELS = {
    "nmt_nfkc": {},
    "nfkc_cf, bytes": {"normalization_rule_name": "nfkc_cf", "byte_fallback": True,
                       "vocab_size": 900},
    "identity, spaces": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "as T5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1,
              "normalization_rule_name": "nfkc"},
    "as Llama": {"normalization_rule_name": "identity", "byte_fallback": True, "split_digits": True,
                 "remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True,
                 "vocab_size": 900},
    "own rules": {"normalization_rule_tsv": "rules.tsv"},
    "own pieces": {"user_defined_symbols": ["ing", "<x>", "日本", "▁the▁"],
                   "control_symbols": ["<c>"]},
    "spaces after": {"treat_whitespace_as_suffix": True},
    "across words": {"split_by_whitespace": False, "add_dummy_prefix": False},
}
FIXED = [
    "", " ", "  ", "\t", "\n", " \n ", "a", "▁", "▁▁ a", "a ▁", "  a  b  ", "\u3000", "\u00a0x",
    "\ufeffa", "\u200b", "\ufffd", "⁇", "<unk>", "<s>", "</s>", "<0x41>", "<x>ing", "the the the",
    "▁the▁", "A...B12", "😀👍🏽🇩🇪👨‍👩‍👧", "e\u0301 é \u0301", "ﷺﷺ ﬁ ㌔ Å ½",
    "か\u3099 が", "\u1100\u1161\u11a8 각",
    "नमस्ते", "\U0010ffff\U000e0001", "日本  日本", "1234567", "-" * 50,
]
RANGES = [(32, 127), (32, 127), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x600, 0x700),
          (0x900, 0x980), (0x1100, 0x1200), (0x1E00, 0x2100), (0x2460, 0x2500), (0x3040, 0x3100),
          (0x4E00, 0x5000), (0xAC00, 0xAC80), (0xF900, 0xFB10), (0xFE00, 0xFFEE),
          (0x1D400, 0x1D500), (0x1F300, 0x1F700)]

draw = random.Random(0)


def texts(corpus):
    """Sentences, cut and joined with spaces, marks and characters of many scripts."""
    def part():
        kind = draw.random()
        if kind < 0.45:
            return draw.choice(corpus)[:draw.randint(1, 40)]
        if kind < 0.6:
            return " " * draw.randint(1, 4)
        if kind < 0.65:
            return draw.choice(["\n", "\t", "▁", "▁▁", "\u00ad", "<x>", "日本", "ing", "<0x0A>",
                                "..."])
        first, last = draw.choice(RANGES)
        return "".join(chr(draw.randrange(first, last)) for _ in range(draw.randint(1, 6)))

    mixed = ["".join(part() for _ in range(draw.randint(1, 12))) for _ in range(1500)]
    return FIXED + mixed + draw.sample(corpus, min(500, len(corpus)))


def train(folder, corpus, kind, options):
    (folder / "rules.tsv").write_text(RULES)
    options = {"vocab_size": 600, "character_coverage": 0.995, "hard_vocab_limit": False, **options}
    if "normalization_rule_tsv" in options:
        options["normalization_rule_tsv"] = str(folder / "rules.tsv")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_prefix=str(folder / "m"), model_type=kind,
        num_threads=1, minloglevel=2, **options)
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "m.model"))


def save(file, nodes, output, output_type, dims, tables=()):
    graph = helper.make_graph(
        nodes, "given", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["N", dims[1]])],
        [helper.make_tensor_value_info(output, output_type, dims)], list(tables))
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), file)


def run(command, folder, *arguments):
    done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stderr}")


def compare_ids(command, folder, oracle, rows):
    """A model that gives its ids; --top writes all of them, each with its position."""
    save(folder / "ids.onnx", [helper.make_node("Cast", ["ids"], ["y"], to=TensorProto.DOUBLE)],
         "y", TensorProto.DOUBLE, ["N", LENGTH])
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
        for row, text in enumerate(rows):
            file.write(json.dumps({"text": text}, ensure_ascii=row % 2 == 0) + "\n")
    run(command, folder, "infer", "ids.onnx", "--data", "texts.jsonl", "--tokenizer", "m.model",
        "--top", str(LENGTH), "-o", "ids.csv")
    padding = next(one for one in (oracle.pad_id(), oracle.eos_id(), oracle.unk_id()) if one >= 0)
    wrong = []
    with open(folder / "ids.csv", encoding="utf-8", newline="") as file:
        found = list(csv.reader(file))[1:]
    assert len(found) == len(rows)
    for text, fields in zip(rows, found):
        got = [None] * LENGTH
        for position, value in zip(fields[1::2], fields[2::2]):
            got[int(position)] = int(value)
        wanted = oracle.encode(text)
        if got != (wanted + [padding] * LENGTH)[:LENGTH]:
            wrong.append(text)
    return wrong


def compare_texts(command, folder, oracle, prompts):
    """A model that continues each piece with the next one of a random order."""
    size = oracle.get_piece_size()
    order = list(range(size))
    draw.shuffle(order)
    table = np.zeros((size, size), np.float32)
    table[np.arange(size), order] = 1
    save(folder / "next.onnx", [helper.make_node("Gather", ["table", "ids"], ["scores"])],
         "scores", TensorProto.FLOAT, ["N", "T", size], [numpy_helper.from_array(table, "table")])
    wrong = []
    for prompt in prompts:
        run(command, folder, "infer", "next.onnx", "--prompt=" + prompt, "--sample", str(SAMPLED),
            "--temperature", "0", "--tokenizer", "m.model", "-o", "text.txt")
        ids = oracle.encode(prompt)
        known = len(oracle.decode(ids))
        for _ in range(SAMPLED):
            ids.append(order[ids[-1]])
        if (folder / "text.txt").read_bytes().decode() != prompt + oracle.decode(ids)[known:]:
            wrong.append(prompt)
    return wrong


def main():
    command, corpus = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    lines = [one.strip() for one in corpus.read_text(encoding="utf-8").splitlines()]
    lines = [one for one in lines if 10 < len(one) < 400][:6000] + FIXED[-10:] * 20
    failed = False
    for kind in ("unigram", "bpe"):
        for name, options in MODELS.items():
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                oracle = train(folder, lines, kind, options)
                rows = texts(lines)
                wrong = compare_ids(command, folder, oracle, rows)
                prompts = [one for one in rows if oracle.encode(one) and "\n" not in one]
                sampled = compare_texts(command, folder, oracle, draw.sample(prompts, PROMPTS))
            print(f"{kind:8} {name:18} {len(rows)} texts, {len(wrong)} with other ids; {PROMPTS} "
                  f"sampled texts, {len(sampled)} differ", *map(repr, (wrong + sampled)[:3]))
            failed = failed or bool(wrong or sampled)
    return failed


if __name__ == "__main__":
    sys.exit(main())
