#!/usr/bin/env python3
"""Runs the README: its C++ programs, which the build compiled, and its shell blocks of commands that
begin with `ondine`, in their order, in a folder with a small network and small data.

  readme.py README BIN WORK
"""
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys

CLASSES, SIDE = 10, 28


def write_idx(file, dims, values):
    """An IDX file of unsigned bytes."""
    head = struct.pack(">BBBB", 0, 0, 8, len(dims)) + struct.pack(f">{len(dims)}I", *dims)
    file.write_bytes(head + bytes(values))


def write_data(folder, part, count):
    """Images whose brightest rows tell their class."""
    noise = random.Random(part)
    labels = [i % CLASSES for i in range(count)]
    images = []
    for label in labels:
        for row in range(SIDE):
            bright = 150 if row // 2 == label else 0
            images += [noise.randrange(60) + bright for _ in range(SIDE)]
    write_idx(folder / f"{part}-images-idx3-ubyte", [count, SIDE, SIDE], images)
    write_idx(folder / f"{part}-labels-idx1-ubyte", [count], labels)


def commands(readme, binaries):
    """What to run for each block, in the order of the README."""
    program = 0
    for language, code in re.findall(r"```(\w+)\n(.*?)```", readme, re.S):
        if language == "cpp" and "int main(" in code:
            program += 1
            yield [str(binaries / f"readme_example_{program}")], code
        elif language == "sh":
            lines = code.replace("\\\n", " ").strip().splitlines()
            if all(line.startswith("ondine ") for line in lines):
                yield ["sh", "-ec", code], code


def main():
    readme, binaries, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(work, ignore_errors=True)
    (work / "data").mkdir(parents=True)
    write_data(work / "data", "train", 320)
    write_data(work / "data", "t10k", 100)
    subprocess.run([str(binaries / "example_make_cnn"), "net.onnx"], cwd=work, check=True)
    environment = dict(os.environ, PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}")
    ran = 0
    for command, code in commands(readme.read_text(), binaries):
        result = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        print(result.stdout + result.stderr)
        if result.returncode != 0 or not result.stdout:
            print(f"this block of the README failed or printed nothing:\n{code}")
            return 1
        for written in re.findall(r'-o (\S+\.onnx)|export_\w+\("([^"]+)"\)', code):
            if not (work / (written[0] or written[1])).exists():
                print(f"{written} is missing after this block of the README:\n{code}")
                return 1
        ran += 1
    print(f"{ran} blocks of the README ran")
    return 0 if ran > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
