#!/usr/bin/env python3
"""Reports what the tests of a build with --coverage reached: coverage.py BUILD.

Writes BUILD/coverage/index.html (a page per file with what is missed) and prints lines and branches
of each module, without the branches that only exceptions take, with the least covered files. Exits
with 1 when a module is below its threshold. Needs gcovr, in the environment that runs this.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

# Percentages of lines and branches.
THRESHOLDS = {
    "core": (98, 90), "graph": (98, 90), "autodiff": (98, 90), "proto": (98, 90),
    "checkpoints": (98, 90), "trainer": (98, 90), "tools": (95, 0), "kernels": (0, 0),
}


def run_gcovr(root, build, out):
    filters = [item for module in THRESHOLDS for item in ("--filter", f"{root}/{module}/")]
    subprocess.run(
        [sys.executable, "-m", "gcovr", "--root", str(root), "--object-directory", str(build),
         *filters, "--exclude-throw-branches", "--exclude-unreachable-branches",
         "--gcov-ignore-parse-errors", "-j", str(os.cpu_count()),
         "--json", str(out / "coverage.json"), "--html-details", str(out / "index.html"),
         str(build)], check=True, stdout=subprocess.DEVNULL)
    return json.loads((out / "coverage.json").read_text(encoding="utf-8"))


def counts(file):
    """Lines and branches of one file: covered, all, and the numbers of missed lines."""
    lines = collections.defaultdict(int)
    branches = {}
    for line in file["lines"]:
        if line.get("gcovr/noncode"):
            continue
        number = line["line_number"]
        lines[number] += line["count"]
        for i, branch in enumerate(line["branches"]):
            if not branch.get("throw") and not branch.get("gcovr/excluded"):
                key = number, branch.get("branchno", i)
                branches[key] = branches.get(key, 0) + branch["count"]
    missed = sorted(number for number, count in lines.items() if count == 0)
    return (len(lines) - len(missed), len(lines),
            sum(1 for count in branches.values() if count), len(branches), missed)


def ranges(numbers):
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(__file__).resolve().parents[2]
    build = pathlib.Path(sys.argv[1]).resolve()
    out = build / "coverage"
    out.mkdir(exist_ok=True)
    modules = collections.defaultdict(list)
    for file in run_gcovr(root, build, out)["files"]:
        modules[file["file"].split("/")[0]].append((file["file"], *counts(file)))
    below = []
    with (out / "missed.txt").open("w", encoding="utf-8") as missed:
        print(f"{'module':12} {'lines':>16} {'branches':>18}")
        for module, (least_lines, least_branches) in THRESHOLDS.items():
            files = modules[module]
            sums = [sum(file[i] for file in files) for i in range(1, 5)]
            lines, branches = percent(*sums[:2]), percent(*sums[2:])
            print(f"{module:12} {lines:6.2f} % of {sums[1]:6} {branches:6.2f} % of {sums[3]:6}")
            if lines < least_lines or branches < least_branches:
                below.append(f"{module}: {lines:.2f} % of lines and {branches:.2f} % of branches, "
                             f"needed: {least_lines} and {least_branches}")
            for file in sorted(files, key=lambda file: file[1] - file[2]):
                if file[5]:
                    missed.write(f"{file[0]}: {ranges(file[5])}\n")
    print(f"missed lines: {out / 'missed.txt'}, pages: {out / 'index.html'}")
    for text in below:
        print("below the threshold:", text)
    return 1 if below else 0


sys.exit(main())
