"""tables.py ONDINE FOLDER: trains a model of a table and compares it with ONNX Runtime and NumPy.

ONNX Runtime takes the raw columns by name: numbers as float64, categories as texts, a missing value
as NaN or as the empty text. Its predictions are those of `ondine infer` on the raw .csv, and the
constants of the graph are what NumPy computes of the training rows.
"""

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

ondine, folder = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
NUMBERS = ["age", "when", "height"]
CATEGORIES = ["color", "city"]
MISSING = ["", "NA", "null"]


def run(*arguments, fails=False):
    result = subprocess.run([ondine, *arguments], cwd=folder, capture_output=True, text=True)
    if (result.returncode != 0) != fails:
        sys.exit(f"{arguments}: code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def write_network(width):
    zeros = [helper.make_tensor("w1", TensorProto.FLOAT, [width, 8], [0.0] * width * 8),
             helper.make_tensor("b1", TensorProto.FLOAT, [8], [0.0] * 8),
             helper.make_tensor("w2", TensorProto.FLOAT, [8, 1], [0.0] * 8),
             helper.make_tensor("b2", TensorProto.FLOAT, [1], [0.0])]
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
             helper.make_node("Tanh", ["h"], ["t"]),
             helper.make_node("Gemm", ["t", "w2", "b2"], ["y"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "net", [value("x", TensorProto.FLOAT, ["N", width])],
                              [value("y", TensorProto.FLOAT, ["N", 1])], zeros)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]),
              folder / "net.onnx")


def make_rows(count, seed, colors):
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        row = {"age": str(draw.randint(18, 90)), "color": draw.choice(colors),
               "when": str(1_700_000_000 + draw.randint(0, 5000)), "id": str(draw.random()),
               "city": draw.choice(["Ulm", 'Bad "Urach"', "Tübingen, Stadt"]),
               "height": f"{draw.gauss(170, 12):.3f}"}
        row["target"] = f"{int(row['age']) / 50 + len(row['city']) / 10:.3f}"
        for name in ["age", "color", "height"]:
            if draw.random() < 0.15:
                row[name] = draw.choice(MISSING)
        rows.append(row)
    return rows


def write_csv(name, rows, columns):
    with open(folder / name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def raw_columns(rows):
    feeds = {}
    for name in NUMBERS:
        numbers = [np.nan if row[name] in MISSING else float(row[name]) for row in rows]
        feeds[name] = np.array(numbers, np.float64).reshape(-1, 1)
    for name in CATEGORIES:
        texts = ["" if row[name] in MISSING else row[name] for row in rows]
        feeds[name] = np.array(texts, object).reshape(-1, 1)
    return feeds


def check(name, found, expected, tolerance):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape or not np.allclose(found, expected, tolerance, tolerance):
        sys.exit(f"{name}: {found} instead of {expected}")


def record_of(path):
    entries = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    return json.loads(entries["ondine.data"])


def predictions(model, table):
    run("infer", model, "--data", table, "-o", "out.csv")
    with open(folder / "out.csv", encoding="utf-8") as file:
        return [float(row["target"]) for row in csv.DictReader(file)]


def main():
    rows = make_rows(300, 1, ["red", "green", "blue"])
    columns = list(rows[0])
    write_csv("train.csv", rows, columns)
    write_network(3 + 3 + 4)
    table = ["--data", "train.csv", "--drop", "id"]
    run("prepare", "net.onnx", "-o", "train.onnx", "--loss", "mse", "--optimizer", "adam",
        "--learning-rate", "0.02", *table, "--one-hot", "color", "--embed", "city=4",
        "--standardize", "age,when,height", "--impute", "age=median,color=green,mean")
    said = run("train", "train.onnx", "--data", "train.csv", "--epochs", "5", "--batch-size", "16",
               "--initialize", "--seed", "1", "-o", "tuned.onnx")
    if "other rows" in said:
        sys.exit("the training rows are those of the plan, but: " + said)

    # What NumPy computes of the training rows.
    plan = record_of(folder / "tuned.onnx")["table_plan"]
    known = {column["name"]: column for column in plan["columns"]}
    if list(known) != ["age", "color", "when", "city", "height"]:
        sys.exit(f"columns {list(known)}")
    feeds = raw_columns(rows)
    for name, statistic in [("age", np.nanmedian), ("when", np.nanmean), ("height", np.nanmean)]:
        fill = statistic(feeds[name])
        filled = np.where(np.isnan(feeds[name]), fill, feeds[name])
        check(name + " fill", known[name]["fill"], fill, 1e-12)
        check(name + " mean", known[name]["mean"], filled.mean(), 1e-12)
        check(name + " deviation", known[name]["deviation"], filled.std(), 1e-12)
    if known["color"]["values"] != ["blue", "green", "red"]:
        sys.exit(f"values {known['color']['values']}")

    # Rows that were not trained on, columns in another order, unknown and missing values.
    others = make_rows(64, 2, ["red", "purple", "blue"])
    random.Random(3).shuffle(columns)
    write_csv("new.csv", others, [name for name in columns if name != "target"])
    session = onnxruntime.InferenceSession(folder / "tuned.onnx",
                                           providers=["CPUExecutionProvider"])
    expected = session.run(None, raw_columns(others))[0].reshape(-1)
    check("predictions", predictions("tuned.onnx", "new.csv"), expected, 1e-5)
    if np.std(expected) < 0.01:
        sys.exit("the predictions are all alike")
    said = run("infer", "tuned.onnx", "--data", "new.csv")
    if "'color' has values in" not in said or "purple" not in said:
        sys.exit("no note of the unknown category: " + said)

    # One-hot, fill and embedding against NumPy, by the exported constants.
    network = onnx.load(folder / "tuned.onnx")
    weights = {one.name: onnx.numpy_helper.to_array(one) for one in network.graph.initializer}
    parts, raw = [], raw_columns(others)
    for name, column in known.items():
        if column["kind"] == "number":
            values = np.where(np.isnan(raw[name]), column["fill"], raw[name])
            values = (values - column["mean"]) / column["deviation"]
            parts.append(values.astype(np.float32))
            continue
        texts = [text or column.get("fill", "") for text in raw[name].reshape(-1)]
        codes = [1 + column["values"].index(text) if text in column["values"] else 0
                 for text in texts]
        if column["kind"] == "one-hot":
            parts.append(np.eye(len(column["values"]) + 1, dtype=np.float32)[codes][:, 1:])
        else:
            parts.append(weights[name + ".embedding"][codes])
    hidden = np.tanh(np.concatenate(parts, 1) @ weights["w1"] + weights["b1"])
    check("NumPy", (hidden @ weights["w2"] + weights["b2"]).reshape(-1), expected, 1e-4)


main()
print("tables: ONNX Runtime and NumPy agree")
