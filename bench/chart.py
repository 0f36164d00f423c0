#!/usr/bin/env python3
"""Draws the comparison with other frameworks, or prints it as tables.

  bench/chart.py            writes docs/images/comparison.svg from docs/data/comparison.json
  bench/chart.py --check    fails when the chart is out of date
  bench/chart.py --table    prints the figures as tables in Markdown

Only the standard library is needed.
"""

import argparse
import json
import math
import pathlib
import sys

import svg
from svg import FAINT, dot, line, text

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "docs/data/comparison.json"
CHART = ROOT / "docs/images/comparison.svg"

WIDTH, ROW, TOP, LEFT = 960, 30, 108, 290
COLORS = {"ondine": "#0b6e99", "pytorch": "#d9480f", "pytorch_compiled": "#e8a33d",
          "jax": "#7b4fb5", "ort": "#3f8f4f", "mnn": "#b03a6f",
          "tensorflow": "#6b6b6b"}


class Axis:
    """A logarithmic axis from `low` to `high` between two horizontal positions."""

    def __init__(self, left, right, low, high, ticks):
        self.left, self.right, self.ticks = left, right, ticks
        self.low, self.span = math.log(low), math.log(high) - math.log(low)

    def at(self, value):
        return self.left + (self.right - self.left) * (math.log(value) - self.low) / self.span


def draw_axis(axis, title, unit, bottom):
    yield text(axis.left, TOP - 44, title, 14, weight="bold")
    for tick in axis.ticks:
        x = axis.at(tick)
        yield line(x, TOP - 12, x, bottom)
        yield text(x, TOP - 18, f"{tick:g}{unit}", 11, FAINT, "middle")


def draw_row(workload, y, labels, times, memory):
    step, resident = workload["step_ms"], workload["resident_mb"]
    yield text(LEFT - 14, y + 4, workload["title"], anchor="end")
    slowest = max(step.values()) / step["ondine"]
    yield line(times.at(1), y, times.at(slowest), y, FAINT, 1)
    for name in [key for key in COLORS if key in step and key != "ondine"]:
        ratio = step[name] / step["ondine"]
        yield dot(times.at(ratio), y, COLORS[name], 5,
                  f"{labels[name]}: {step[name]:g} ms, {ratio:.2f} times Ondine's")
    yield dot(times.at(1), y, COLORS["ondine"], 7, f"Ondine: {step['ondine']:g} ms")
    yield line(memory.at(resident["ondine"]), y, memory.at(max(resident.values())), y, FAINT, 1)
    for name in [*(key for key in COLORS if key in resident and key != "ondine"), "ondine"]:
        yield dot(memory.at(resident[name]), y, COLORS[name], 7 if name == "ondine" else 5,
                  f"{labels[name]}: {resident[name]:g} MB")


def draw(data):
    labels = {name: entry["label"] for name, entry in data["frameworks"].items()}
    rows = data["workloads"]
    bottom = TOP + ROW * len(rows)
    height = bottom + 44
    times = Axis(LEFT, 640, 0.8, 32, (1, 2, 4, 8, 16))
    memory = Axis(690, WIDTH - 34, 10, 2000, (10, 100, 1000))
    parts = []
    x = 24
    for name, label in labels.items():
        parts += [dot(x, 27, COLORS[name], 7 if name == "ondine" else 5, label),
                  text(x + 12, 32, label)]
        x += 38 + 7.4 * len(label)
    parts += draw_axis(times, "Time of a training step, relative to Ondine", "×", bottom)
    parts += draw_axis(memory, "Resident memory", " MB", bottom)
    for index, workload in enumerate(rows):
        parts += draw_row(workload, TOP + ROW * (index + 0.5), labels, times, memory)
    parts.append(text(24, height - 16, f"{data['machine']}; {data['threads']} thread. "
                      "Lower is better; logarithmic scales.", 11, FAINT))
    return svg.image(WIDTH, height, "Training step time and memory, Ondine and other frameworks",
                     parts)


def table(data, key, title, ratio):
    """The figures of all workloads, and those of the least other over Ondine's."""
    names = list(data["frameworks"])
    rows = [[title, *(data["frameworks"][name]["label"] for name in names), ratio]]
    for workload in data["workloads"]:
        figures = workload[key]
        best = min(figures[name] for name in figures if name != "ondine")
        rows.append([f"{workload['id']} {workload['title']}",
                     *[f"{figures[name]:g}" if name in figures else "" for name in names],
                     f"{best / figures['ondine']:.2f}"])
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail when the chart is out of date")
    parser.add_argument("--table", action="store_true", help="print tables in Markdown instead")
    options = parser.parse_args()
    data = json.loads(DATA.read_text())
    if options.table:
        print(table(data, "step_ms", "ms per step", "best other / Ondine"))
        print()
        print(table(data, "resident_mb", "MB", "least other / Ondine"))
        return 0
    return svg.write_or_check(draw(data), CHART, ROOT, options.check, "bench/chart.py")


if __name__ == "__main__":
    sys.exit(main())
