#!/usr/bin/env python3
"""Links recordings into one folder for each language: make_folders.py SOUNDS OUT

SOUNDS/LANGUAGE/**/PHRASE.wav becomes OUT/train/LANGUAGE/PHRASE.wav or OUT/val/LANGUAGE/PHRASE.wav.
A phrase goes to the same part in all languages, every fifth one to val."""
import os
import sys
import zlib

LANGUAGES = ("en", "es", "fr", "it")


def main(source, target):
    for language in LANGUAGES:
        for part in ("train", "val"):
            os.makedirs(f"{target}/{part}/{language}", exist_ok=True)
        root = f"{source}/{language}/"
        for folder, _, names in os.walk(root, followlinks=True):
            for name in names:
                phrase = os.path.join(folder, name)[len(root):]
                # Not a word is said in these.
                if not phrase.endswith(".wav") or phrase.startswith(("silence/", "beep")):
                    continue
                part = "val" if zlib.crc32(phrase.encode()) % 5 == 0 else "train"
                link = f"{target}/{part}/{language}/{phrase.replace('/', '-')}"
                if not os.path.lexists(link):
                    os.symlink(os.path.realpath(f"{root}{phrase}"), link)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
