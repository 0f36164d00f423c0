#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""runner.py CASE RESULTS [CASE RESULTS]...: runs conformance cases with the reference runtime.

A case that it cannot run gets no report, and the exit code is then 1.
"""

import json
import sys
import traceback
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
    for algorithm in call.get("algorithms", ()):
        session.train(algorithm, feeds, [])
    if call["call"] == "train":
        return session.train(call["algorithm"], feeds, call["outputs"])
    if call["call"] == "infer":
        return session.infer(feeds, call["outputs"])
    return {}


def replay(case, results):
    plan = json.loads((case / "case.json").read_text())
    session = Session(onnx.load(case / "model.onnx"))
    for i, call in enumerate(plan["calls"]):
        name = f"call_{i}"
        outputs = make(session, call, load_feeds(case / name))
        save(results / name, "output", outputs, session.types)
        state = {one: session.state[one] for one in call["state"]}
        save(results / name, "state", state, session.types)


def run_case(case, results):
    results.mkdir(parents=True, exist_ok=True)
    report = {"status": "done"}
    try:
        replay(case, results)
    except Refused as error:
        report = {"status": "refused", "message": str(error)}
    (results / "report.json").write_text(json.dumps(report))


def main():
    folders = [Path(one) for one in sys.argv[1:]]
    if not folders or len(folders) % 2 != 0:
        sys.exit(__doc__)
    status = 0
    for case, results in zip(folders[::2], folders[1::2]):
        try:
            run_case(case, results)
        except Exception:  # pylint: disable=broad-except
            print(f"{case}:\n{traceback.format_exc()}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
