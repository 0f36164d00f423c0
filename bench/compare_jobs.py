#!/usr/bin/env python3
"""The jobs of the examples here and in PyTorch: the same files and split, network, optimizer, batch
size and epochs, with random numbers of their own and another seed for each run. Prints the quality
on the test part and the wall time of training and evaluating, programs' start included, as a table.

  bench/compare_jobs.py --build build [--python PYTHON] [--jobs image_folder,cancer] [--runs 3]

PyTorch (with torchvision and numpy) is looked for in --python. The examples must have run once in
--build, or --examples names the folder with their data."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# Job: the folder of its example, data below that (the test part last), network, options of prepare
# and train, the metric. {data} is the first part.
JOBS = {
    "image_folder": ("image_folder", "photos", "cnn.onnx",
                     "--learning-rate 0.001 --preprocess scale=1/255 --loss softmax-cross-entropy",
                     "--augment flip --epochs 3 --batch-size 64", "accuracy"),
    "cancer": ("table", "data/cancer/train.csv data/cancer/test.csv", "cancer.onnx",
               "--learning-rate 0.003 --loss softmax-cross-entropy",
               "--epochs 40 --batch-size 32", "accuracy"),
    "diabetes": ("table", "data/diabetes/train.csv data/diabetes/test.csv", "diabetes.onnx",
                 "--learning-rate 0.02 --loss mse", "--epochs 80 --batch-size 32", "rmse"),
    "digits": ("digits", "data/train.npz data/test.npz", "net.onnx",
               "--learning-rate 0.01 --loss softmax-cross-entropy",
               "--epochs 40 --batch-size 32 --schedule cosine", "accuracy"),
    "language": ("language", "sounds", "cnn.onnx",
                 "--learning-rate 0.002 --loss softmax-cross-entropy "
                 "--preprocess mel=40,rate=8000,window=256,hop=128,low=60,mean=-4,std=4",
                 "--augment time-shift=0.1,noise=0.05 --epochs 12 --schedule cosine --batch-size 32",
                 "accuracy"),
    "segmentation": ("segmentation", "data", "unet.onnx",
                     "--learning-rate 0.004 --loss softmax-cross-entropy "
                     "--preprocess scale=1/255,layout=nchw",
                     "--augment flip,flip-vertical --epochs 15 --batch-size 16", "iou"),
    "spam": ("spam", "mails_train.jsonl mails_test.jsonl", "net.onnx",
             "--learning-rate 0.002 --init uniform --loss softmax-cross-entropy "
             "--class-weights balanced --data {data}", "--epochs 6 --schedule one-cycle --batch-size 32", "accuracy"),
    "next_character": ("next_character", "verses_train.txt verses_val.txt", "net.onnx",
                       "--learning-rate 0.004 --loss softmax-cross-entropy --clip-norm 1",
                       "--epochs 2 --schedule cosine --batch-size 32", "perplexity"),
}


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def train_by_hand(program, folder, job, places, target, threads, seed):
    """Prepares and trains the network of a job on the places: target/tuned.onnx."""
    example, _, network, prepare, train, _ = JOBS[job]
    model, tuned = f"{target}/train.onnx", f"{target}/tuned.onnx"
    run(program, "prepare", f"{folder}/{example}/{network}", "-o", model, "--optimizer", "adam",
        *prepare.format(data=places[0]).split())
    run(program, "train", model, "--data", *places, *train.split(), "--seed", str(seed),
        "--initialize", "--threads", str(threads), "-o", tuned)


def score_of(program, tuned, places, metric, threads):
    said = run(program, "eval", tuned, "--data", *places, "--metrics", metric, "--threads",
               str(threads))
    return float(re.search(rf"^{metric} (\S+)", said, re.M).group(1))


def ours(program, folder, job, threads, seed):
    example, data, *_, metric = JOBS[job]
    places = [f"{folder}/{example}/{part}" for part in data.split()]
    with tempfile.TemporaryDirectory() as target:
        start = time.perf_counter()
        train_by_hand(program, folder, job, places, target, threads, seed)
        score = score_of(program, f"{target}/tuned.onnx", places[-1:], metric, threads)
        return time.perf_counter() - start, score


def theirs(python, folder, job, threads, seed):
    example, data, *_, metric = JOBS[job]
    places = [f"{folder}/{example}/{part}" for part in data.split()]
    start = time.perf_counter()
    run = subprocess.run([python, f"{HERE}/jobs_torch.py", job, str(threads), str(seed), *places],
                         check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    return seconds, json.loads(run.stdout.splitlines()[-1])[metric]


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build")
    options.add_argument("--examples", help="folder with a folder of data for each example")
    options.add_argument("--python", default=sys.executable)
    options.add_argument("--jobs", default=",".join(JOBS))
    options.add_argument("--runs", type=int, default=1)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    chosen = options.parse_args()
    folder = chosen.examples or chosen.build
    print(f"{chosen.threads} threads, load {os.getloadavg()[0]:.1f}, medians of {chosen.runs} runs "
          "in turns\n")
    print("| job | metric | Ondine | PyTorch | seconds | PyTorch | PyTorch / Ondine |")
    print("|---|---|---|---|---|---|---|")
    for job in chosen.jobs.split(","):
        pairs = [(ours(f"{chosen.build}/bin/ondine", folder, job, chosen.threads, seed),
                  theirs(chosen.python, folder, job, chosen.threads, seed))
                 for seed in range(1, chosen.runs + 1)]
        seconds = [median([pair[i][0] for pair in pairs]) for i in (0, 1)]
        score = [median([pair[i][1] for pair in pairs]) for i in (0, 1)]
        print(f"| {job} | {JOBS[job][-1]} | {score[0]:.4g} | {score[1]:.4g} | {seconds[0]:.1f} | "
              f"{seconds[1]:.1f} | {seconds[1] / seconds[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
