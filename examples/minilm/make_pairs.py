#!/usr/bin/env python3
"""Writes definitions of WordNet beside the words they are of: make_pairs.py WORDNET OUT

OUT/pairs_train.jsonl and OUT/pairs_test.jsonl get a line for each, {"text": "a large natural stream
of water", "text_pair": "river"}; which part, and which definitions at all, the CRC of the
definition says. One with a word that it defines is left out."""
import json
import os
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from wordnet import entries  # noqa: E402

# Of 1,000 parts of all definitions.
PARTS = {"train": range(0, 50), "test": range(500, 515)}


def main(wordnet, out):
    files = {part: open(f"{out}/pairs_{part}.jsonl", "w", encoding="utf-8") for part in PARTS}
    for kind in ("noun", "verb"):
        for words, definition in entries(wordnet, kind):
            if len(words) < 2 or any(word.lower() in definition.lower() for word in words):
                continue
            row = {"text": definition, "text_pair": ", ".join(words)}
            for part, numbers in PARTS.items():
                if zlib.crc32(definition.encode()) % 1000 in numbers:
                    files[part].write(json.dumps(row) + "\n")
    for file in files.values():
        file.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
