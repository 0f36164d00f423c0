#!/usr/bin/env python3
"""Compares classes of raw files with onnxruntime: check_served_files.py TRAINED.onnx FOLDER...

The model takes what `prepare --preprocess` lets it take: bytes of pixels (uint8, NHWC) or samples.
Every image or WAV file of the folders is classified by `ondine infer` and, from the exported model,
by onnxruntime; images are read by Pillow and samples by Python's wave. The class names must be equal
for every file. Needs onnxruntime, numpy and Pillow from PyPI."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import wave

import numpy as np
import onnxruntime
from PIL import Image


def read_image(path, shape):
    height, width, channels = shape
    image = Image.open(path).convert("L" if channels == 1 else "RGB")
    if image.size != (width, height):
        raise SystemExit(f"{path} has {image.size}, the model takes {width} x {height}")
    return np.asarray(image, np.uint8).reshape(height, width, channels)


def read_sound(path, length):
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        samples = samples.reshape(-1, file.getnchannels()).mean(1)
    samples = (samples / 32768).astype(np.float32)[:length]
    return np.pad(samples, (0, length - len(samples)))


def classes_here(ondine, model, folder, work):
    table = work / "classes.csv"
    subprocess.run([ondine, "infer", model, "--data", folder, "-o", table], check=True,
                   stdout=subprocess.DEVNULL)
    with open(table, newline="", encoding="utf-8") as file:
        return {row["file"]: row["class"] for row in csv.DictReader(file)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--ondine", default="build/bin/ondine")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        exported = str(work / "exported.onnx")
        subprocess.run([options.ondine, "export", options.model, "-o", exported], check=True,
                       stdout=subprocess.DEVNULL)
        session = onnxruntime.InferenceSession(exported)
        taken = session.get_inputs()[0]
        names = json.loads(session.get_modelmeta().custom_metadata_map["ondine.data"])["classes"]
        read = read_image if len(taken.shape) == 4 else read_sound
        shape = taken.shape[1:] if len(taken.shape) == 4 else taken.shape[-1]
        files, different = 0, []
        for folder in options.folders:
            for path, ours in classes_here(options.ondine, options.model, folder, work).items():
                row = read(path, shape)[None]
                scores = session.run(None, {taken.name: row.reshape(1, *taken.shape[1:])})[0][0]
                files += 1
                if names[int(np.argmax(scores))] != ours:
                    different.append(f"{path}: {ours}, onnxruntime {names[int(np.argmax(scores))]}")
    for line in different:
        print(line)
    print(f"{files} files, {len(different)} with another class in onnxruntime")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
