#!/usr/bin/env python3
"""Writes the texts of the example: make_texts.py BIBLE WORDNET OUT

BIBLE has a verse a line, `Ge1:1 In the beginning...`; WORDNET is the folder with data.noun and the
like. OUT gets
  king_james_train.txt, king_james_val.txt   verses; of 20 blocks of 40 the last one is for val
  glosses.txt                                definitions of verbs, adjectives and adverbs
  definitions_train.jsonl, definitions_val.jsonl
                                             {"prompt": "define: river\\n", "completion": "a large
                                             natural stream..."}, of nouns that are one word in
                                             lower case, every twentieth word for val
"""
import json
import os
import re
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from wordnet import entries  # noqa: E402

def king_james(source, out):
    """Verses without their places; blocks of them, so that val is running text."""
    parts = {"train": [], "val": []}
    with open(source, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            verse = re.sub(r"^\S*\d+:\d+ ", "", line)
            parts["val" if number // 40 % 20 == 19 else "train"].append(verse)
    for part, verses in parts.items():
        with open(f"{out}/king_james_{part}.txt", "w", encoding="utf-8") as file:
            file.writelines(verses)


def glosses(wordnet, out):
    with open(f"{out}/glosses.txt", "w", encoding="utf-8") as file:
        for kind in ("verb", "adj", "adv"):
            file.writelines(f"{definition}\n" for _, definition in entries(wordnet, kind))


def definitions(wordnet, out):
    parts = {"train": [], "val": []}
    for (word, *_), definition in entries(wordnet, "noun"):
        if re.fullmatch("[a-z]+", word):
            row = {"prompt": f"define: {word}\n", "completion": definition}
            part = "val" if zlib.crc32(word.encode()) % 20 == 0 else "train"
            parts[part].append(json.dumps(row) + "\n")
    for part, rows in parts.items():
        with open(f"{out}/definitions_{part}.jsonl", "w", encoding="utf-8") as file:
            file.writelines(rows)


def main(bible, wordnet, out):
    os.makedirs(out, exist_ok=True)
    king_james(bible, out)
    glosses(wordnet, out)
    definitions(wordnet, out)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
