#!/usr/bin/env python3
"""Links recordings into one folder for each language: make_folders.py SOUNDS OUT

SOUNDS/LANGUAGE/**/PHRASE.wav, or SOUNDS/LANGUAGE_*/**/PHRASE.wav as in en_US_f_Allison, becomes OUT/train/LANGUAGE/PHRASE.wav or OUT/val/LANGUAGE/PHRASE.wav.
A phrase goes to the same part in all languages, every fifth one to val."""
import glob
import os
import sys
import zlib

LANGUAGES = ("en", "es", "fr", "it")


def folder_of(source, language):
    """The folder of a language: of its name, or the first of a country and a speaker."""
    for folder in [f"{source}/{language}", *sorted(glob.glob(f"{glob.escape(source)}/{language}_*"))]:
        if os.path.isdir(folder):
            return folder
    print(f"skipped: no {source}/{language} and no folder {language}_* beside it "
          f"(package asterisk-core-sounds-{language}-wav)", file=sys.stderr)
    sys.exit(77)


def main(source, target):
    sources = {language: folder_of(source, language) for language in LANGUAGES}
    for language in LANGUAGES:
        for part in ("train", "val"):
            os.makedirs(f"{target}/{part}/{language}", exist_ok=True)
        root = f"{sources[language]}/"
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
