#!/usr/bin/env python3
"""Compares a federation of Ondine with the same one in PyTorch, in Flower's simulation.

  compare.py --measure WORK   runs both and one of clients that do nothing, writes
                              docs/data/federation.json and the chart; fails where accuracies
                              differ by more than a point, or time and memory by too little
  compare.py                  draws docs/images/federation.svg from the data
  compare.py --check          fails when the chart is out of date

run.sh prepares an interpreter and WORK for --measure. SETTINGS has the rounds and the part of the
nodes that each round asks.
"""
import json
import pathlib
import shutil
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(ROOT / "examples/common")]
import svg  # noqa: E402
from svg import FAINT, dot, line, text  # noqa: E402

DATA = ROOT / "docs/data/federation.json"
CHART = ROOT / "docs/images/federation.svg"
SETTINGS = {"rounds": 40, "fraction-train": 0.1}
LAST = 10  # rounds at the end whose mean accuracy is compared: with few classes a node it swings
NAMES = {"ondine": "Ondine", "torch": "PyTorch"}
COLORS = {"ondine": "#0969da", "torch": "#bc4c00"}


def run(kind, work, rounds):
    """The accuracies by round, the seconds of an answer and the MiB of the largest process."""
    from superlink import SuperLink, wait_for

    folder = work / f"compare_{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    records = folder / "records"
    records.mkdir(parents=True)
    shutil.copytree(HERE / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
    nodes = len(list(work.glob("part*")))
    link = SuperLink(folder, tls=False)
    start = time.monotonic()
    try:
        link.launch("--simulation")
        process = link.start_run(
            "app", {"client": kind, "work": work, "records": records, **SETTINGS, "rounds": rounds},
            "--federation-config", f"num-supernodes={nodes} client-resources-num-cpus=1")
        wait_for("the run", lambda: process.poll() is not None, 3600)
        assert process.returncode == 0 and (records / "history.json").exists(), "the run failed"
    except BaseException:
        link.print_logs()
        raise
    finally:
        link.end()
    lines = [one.split() for file in records.glob("*.times")
             for one in file.read_text().splitlines()]
    history = json.loads((records / "history.json").read_text())
    result = {"accuracy": [one["server"]["accuracy"] for one in history],
              "answers": len(lines),
              "seconds_in_answers": sum(float(seconds) for seconds, _ in lines),
              "median_answer": statistics.median(float(seconds) for seconds, _ in lines),
              "memory_mib": max(int(memory) for _, memory in lines) / 1024,
              "whole_run": time.monotonic() - start}
    print(f"{kind}: {result['answers']} answers, median {1000 * result['median_answer']:.0f} ms, "
          f"{result['memory_mib']:.0f} MiB, run {result['whole_run']:.0f} s, accuracy at the end "
          f"{100 * result['accuracy'][-1]:.1f} %", flush=True)
    return result


def mean_of_last(result):
    return statistics.mean(result["accuracy"][-LAST:])


def judge(found):
    """The figures that are asked for; an AssertionError where one is missed."""
    points = 100 * (mean_of_last(found["ondine"]) - mean_of_last(found["torch"]))
    seconds = found["ondine"]["median_answer"] / found["torch"]["median_answer"]
    above = {kind: found[kind]["memory_mib"] - found["empty"]["memory_mib"] for kind in NAMES}
    memory = above["ondine"] / above["torch"]
    print(f"accuracy {points:+.2f} points against PyTorch (mean of the last {LAST} rounds), time in "
          f"fit {seconds:.2f} times, memory above an empty client {above['ondine']:.0f} of "
          f"{above['torch']:.0f} MiB, {memory:.2f} times")
    assert abs(points) <= 1, "the accuracies differ by more than a point"
    assert seconds <= 0.5, "time in fit is more than half"
    assert memory <= 0.2, "memory is more than a fifth"


def draw(found):
    width, height, left, top, right, bottom = 720, 400, 60, 64, 690, 340
    rounds = len(found["ondine"]["accuracy"]) - 1
    x = lambda number: left + (right - left) * number / rounds
    y = lambda accuracy: bottom - (bottom - top) * accuracy
    parts = [text(left, 30, "Accuracy by round", 16, weight="bold"),
             text(left, 48, f"{found['nodes']} nodes, Fashion-MNIST by a Dirichlet distribution of "
                            f"{found['alpha']}, a tenth of the nodes in each round", 12, FAINT)]
    for percent in range(0, 101, 20):
        parts += [line(left, y(percent / 100), right, y(percent / 100)),
                  text(left - 8, y(percent / 100) + 4, f"{percent} %", 12, FAINT, "end")]
    for number in range(0, rounds + 1, max(1, rounds // 8)):
        parts.append(text(x(number), bottom + 20, str(number), 12, FAINT, "middle"))
    for place, kind in enumerate(NAMES):
        points = [(x(number), y(one)) for number, one in enumerate(found[kind]["accuracy"])]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[kind]}" '
                     'stroke-width="2"/>')
        parts += [dot(a, b, COLORS[kind], 2.5, f"{NAMES[kind]}, round {number}: "
                      f"{100 * found[kind]['accuracy'][number]:.1f} %")
                  for number, (a, b) in enumerate(points)]
        at = left + 20 + 260 * place
        parts += [dot(at, height - 22, COLORS[kind], 5, NAMES[kind]),
                  text(at + 12, height - 18, f"{NAMES[kind]}: {100 * mean_of_last(found[kind]):.1f} "
                                             f"% over the last {LAST}", 13)]
    return svg.image(width, height, "Accuracy by round of a federation of Ondine and of one of "
                                    "PyTorch", parts)


def measure(work):
    work = pathlib.Path(work).resolve()
    found = {"nodes": len(list(work.glob("part*"))), "alpha": 0.3, **SETTINGS}
    for kind in (*NAMES, "empty"):
        found[kind] = run(kind, work, 3 if kind == "empty" else SETTINGS["rounds"])
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps(found, indent=1) + "\n")
    judge(found)
    return found


def main(arguments):
    found = measure(*arguments[1:]) if arguments[:1] == ["--measure"] else json.loads(DATA.read_text())
    return svg.write_or_check(draw(found), CHART, ROOT, arguments[:1] == ["--check"],
                              "bench/federation/compare.py")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
