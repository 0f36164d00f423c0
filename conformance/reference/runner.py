#!/usr/bin/env python3
"""runner.py CASE RESULTS: runs a conformance case with the reference runtime."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import onnx
from onnx import helper, numpy_helper

from reference.session import Session
from reference.validate import Refused


def load_feeds(folder):
    feeds = {}
    for path in sorted(folder.glob("input_*.pb")):
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        feeds[tensor.name] = numpy_helper.to_array(tensor)
    return feeds


def to_tensor(name, value, types):
    return numpy_helper.from_array(value.astype(helper.tensor_dtype_to_np_dtype(types[name])), name)


def save(folder, prefix, values, types):
    folder.mkdir(parents=True, exist_ok=True)
    for i, (name, value) in enumerate(values.items()):
        data = to_tensor(name, value, types).SerializeToString()
        (folder / f"{prefix}_{i}.pb").write_bytes(data)


def make(session, call, feeds):
    if call["call"] == "initialize":
        session.initialize()
    if call["call"] == "train":
        return session.train(call["algorithm"], feeds, call["outputs"])
    if call["call"] == "infer":
        return session.infer(feeds, call["outputs"])
    return {}


def replay(case, results):
    plan = json.loads((case / "case.json").read_text())
    session = Session(onnx.load(case / "model.onnx"))
    for i, call in enumerate(plan["calls"]):
        name = f"test_data_set_{i}"
        outputs = make(session, call, load_feeds(case / name))
        save(results / name, "output", outputs, session.types)
        state = {one: session.state[one] for one in call["state"]}
        save(results / name, "state", state, session.types)


def main():
    case, results = map(Path, sys.argv[1:3])
    results.mkdir(parents=True, exist_ok=True)
    report = {"status": "done"}
    try:
        replay(case, results)
    except Refused as error:
        report = {"status": "refused", "message": str(error)}
    (results / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
