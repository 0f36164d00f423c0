#!/usr/bin/env python3
"""Compares the convolutions of bench_kernels with PyTorch on one thread: both in turns, best of all
rounds. The shapes are those that bench_kernels prints.

  bench/compare_conv.py --build build --rounds 3
"""

import argparse
import os
import pathlib
import re
import subprocess
import time

LINE = re.compile(r"conv( dx| dw)? (\d+)x(\d+)x(\d+)\^2 (\d+) k(\d+) s(\d+) g(\d+) .*?([\d.]+)\s+GF/s")


def ours(program, isa):
    rows = {}
    environment = dict(os.environ, **({"ONDINE_ISA": isa} if isa else {}))
    text = subprocess.run([program, "conv"], env=environment, capture_output=True, text=True,
                          check=True).stdout
    for line in text.splitlines():
        found = LINE.match(line)
        if found:
            shape = tuple(int(word) for word in found.groups()[1:8])
            rows[shape, (found.group(1) or " y").strip()] = float(found.group(9))
    return rows


def best_seconds(body):
    body()
    best = 1e9
    for _ in range(8):
        count = 0
        start = time.perf_counter()
        while time.perf_counter() - start < 2e-3:
            body()
            count += 1
        best = min(best, (time.perf_counter() - start) / count)
    return best


def theirs(shape):
    import torch

    torch.set_num_threads(1)
    batch, channels, size, outputs, kernel, stride, groups = shape
    pad = kernel // 2
    x = torch.randn(batch, channels, size, size)
    w = torch.randn(outputs, channels // groups, kernel, kernel)
    y = torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups)
    dy = torch.randn_like(y)
    work = 2e-9 * y.numel() * (channels // groups) * kernel * kernel

    def gradient(mask):
        return torch.ops.aten.convolution_backward(dy, x, w, None, (stride, stride), (pad, pad),
                                                   (1, 1), False, (0, 0), groups, mask)

    with torch.no_grad():
        return {
            "y": work / best_seconds(
                lambda: torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups)),
            "dx": work / best_seconds(lambda: gradient((True, False, False))),
            "dw": work / best_seconds(lambda: gradient((False, True, False))),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isa", help="baseline, avx2 or avx512; the best one if not given")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.build) / "bin" / "bench_kernels"
    mine, other = {}, {}
    for _ in range(arguments.rounds):
        for key, speed in ours(program, arguments.isa).items():
            mine[key] = max(speed, mine.get(key, 0))
        for shape in dict.fromkeys(key[0] for key in mine):
            for part, speed in theirs(shape).items():
                other[shape, part] = max(speed, other.get((shape, part), 0))
    print("| batch x channels x size, outputs, kernel, stride, groups "
          "| y GF/s, ratio | dx | dw |\n|---|---|---|---|")
    for shape in dict.fromkeys(key[0] for key in mine):
        cells = [f"{mine[shape, part]:.0f}, {mine[shape, part] / other[shape, part]:.2f}x"
                 for part in ("y", "dx", "dw")]
        name = "{}x{}x{}^2, {}, k{} s{} g{}".format(*shape)
        print("|", " | ".join([name] + cells), "|")


if __name__ == "__main__":
    main()
