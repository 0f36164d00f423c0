#!/usr/bin/env python3
"""`ondine finetune` beside the examples, whose options were found by hand: the same training data
and test part, for several seeds, without a network and with the example's. `finetune` sees the
training part alone and sets its own validation rows apart. Prints a table of mean results on the
test part, which docs/finetune.md holds, and fails where a mean falls short of the example's by more
than 1 point of accuracy or IoU or 2 % of RMSE.

  bench/compare_finetune.py --build build [--jobs cancer,diabetes] [--seeds 3] [--results FILE]

The examples must have run once in --build, or --examples names the folder with their data. What
--results holds already is not run again."""
import argparse
import json
import os
import sys
import tempfile
import time

from compare_jobs import JOBS, run, score_of, train_by_hand

# The kind of data, and the training part and the test part of each job.
KINDS = {
    "image_folder": ("images in folders", ["photos/train"], ["photos/val"]),
    "cancer": ("table, classes", ["data/cancer/train.csv"], ["data/cancer/test.csv"]),
    "diabetes": ("table, numbers", ["data/diabetes/train.csv"], ["data/diabetes/test.csv"]),
    "digits": ("arrays (.npz)", ["data/train.npz"], ["data/test.npz"]),
    "language": ("recordings in folders", ["sounds/train"], ["sounds/val"]),
    "segmentation": ("masks", ["data/image_train.npy", "data/mask_train.npy"],
                     ["data/image_test.npy", "data/mask_test.npy"]),
    "spam": ("texts", ["mails_train.jsonl"], ["mails_test.jsonl"]),
}
WAYS = {"hand": "by hand", "new": "`finetune`", "given": "`finetune`, same network"}


def score(program, folder, job, way, threads, seed):
    """Result on the test part and seconds of training."""
    example, _, network, *_, metric = JOBS[job]
    training, test = ([f"{folder}/{example}/{part}" for part in parts] for parts in KINDS[job][1:])
    with tempfile.TemporaryDirectory() as target:
        start = time.perf_counter()
        if way == "hand":
            train_by_hand(program, folder, job, training, target, threads, seed)
        else:
            model = [f"{folder}/{example}/{network}"] if way == "given" else []
            run(program, "finetune", *model, "--data", *training, "--seed", str(seed), "--threads",
                str(threads), "-o", f"{target}/tuned.onnx")
        seconds = time.perf_counter() - start
        return score_of(program, f"{target}/tuned.onnx", test, metric, threads), seconds


def measure(chosen, job, done):
    program, folder = f"{chosen.build}/bin/ondine", chosen.examples or chosen.build
    for seed in range(1, chosen.seeds + 1):
        for way in WAYS:
            key = f"{job} {way} {seed}"
            if key not in done:
                done[key] = score(program, folder, job, way, chosen.threads, seed)
                print(key, *(f"{value:.5g}" for value in done[key]), file=sys.stderr, flush=True)
            if chosen.results:
                with open(chosen.results, "w") as file:
                    json.dump(done, file, indent=1)


def falls_short(metric, hand, found):
    return found > 1.02 * hand if metric == "rmse" else found < hand - 0.01


def shown(metric, value):
    return f"{value:.1f}" if metric == "rmse" else f"{100 * value:.1f} %"


def row(job, seeds, done):
    """A line of the table, and the ways that fall short."""
    metric = JOBS[job][-1]
    mean = {}
    for way in WAYS:
        runs = [done[f"{job} {way} {seed}"] for seed in range(1, seeds + 1)]
        mean[way] = [sum(run[i] for run in runs) / seeds for i in (0, 1)]
    cells = [f"{shown(metric, score)}, {max(1, round(seconds))} s" for score, seconds in mean.values()]
    short = [way for way in WAYS if falls_short(metric, mean["hand"][0], mean[way][0])]
    return f"| {KINDS[job][0]} (`{JOBS[job][0]}`) | {metric} | {seeds} | " + " | ".join(cells) + " |", short


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build")
    options.add_argument("--examples", help="folder with a folder of data for each example")
    options.add_argument("--jobs", default=",".join(KINDS))
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--results", help="JSON file of the runs")
    chosen = options.parse_args()
    done = {}
    if chosen.results and os.path.exists(chosen.results):
        with open(chosen.results) as file:
            done = json.load(file)
    jobs = chosen.jobs.split(",")
    for job in jobs:
        measure(chosen, job, done)
    print("| data | metric | seeds | " + " | ".join(WAYS.values()) + " |")
    print("|---|---|---|" + "---|" * len(WAYS))
    rows = {job: row(job, chosen.seeds, done) for job in jobs}
    for line, _ in rows.values():
        print(line)
    bad = [f"{job}: {', '.join(WAYS[way] for way in short)}" for job, (_, short) in rows.items() if short]
    if bad:
        sys.exit("falls short: " + "; ".join(bad))


if __name__ == "__main__":
    main()
