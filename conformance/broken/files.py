# SPDX-License-Identifier: Apache-2.0
"""Right results written wrongly to the files of a runner."""

import json
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def files(results, pattern):
    found = sorted(results.glob(pattern))
    if not found:
        raise FileNotFoundError(pattern)
    return found


def rewritten(pattern, change):
    """A change of the tensors of the files that a pattern names."""

    def apply(results):
        for path in files(results, pattern):
            tensor = TensorProto.FromString(path.read_bytes())
            path.write_bytes(change(tensor).SerializeToString())

    return apply


def array(change):
    """A change of the elements."""
    return lambda tensor: numpy_helper.from_array(change(numpy_helper.to_array(tensor)), tensor.name)


def cut(tensor):
    """Without the last byte."""
    tensor.raw_data = tensor.raw_data[:-1]
    return tensor


def empty(tensor):
    tensor.raw_data = b""
    return tensor


def none_at_all(tensor):
    tensor.ClearField("raw_data")
    return tensor


def typed(tensor):
    """The same elements in the typed field that onnx.helper.make_tensor takes."""
    value = numpy_helper.to_array(tensor)
    return helper.make_tensor(tensor.name, tensor.data_type, value.shape, value.ravel().tolist())


def typed_in_another_field(tensor):
    value = numpy_helper.to_array(tensor)
    wrong = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    wrong.double_data.extend(value.astype(np.float64).ravel())
    return wrong


def external(tensor):
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="elsewhere"))
    return tensor


def swapped_names(results):
    first, second = files(results, "call_*/state_*.pb")[:2]
    one, other = (TensorProto.FromString(path.read_bytes()) for path in (first, second))
    one.name, other.name = other.name, one.name
    first.write_bytes(one.SerializeToString())
    second.write_bytes(other.SerializeToString())


def wrong_value_beside_the_right_one(results):
    """The wrong one comes first, so that the last one to be read is right."""
    for path in files(results, "call_*/state_0.pb"):
        tensor = TensorProto.FromString(path.read_bytes())
        shutil.copy(path, path.with_name("state_9.pb"))
        path.write_bytes(array(lambda value: value + 1)(tensor).SerializeToString())


def missing_state_of_load(results):
    for path in files(results, "call_0/state_*.pb"):
        path.unlink()


def stale_state(results):
    """The state after the last call is that after the first."""
    last = files(results, "call_*")[-1]
    for path in files(results, "call_0/state_*.pb"):
        shutil.copy(path, last / path.name)


def shifted_calls(results):
    """The folder of a call has the number of the one before."""
    folders = files(results, "call_*")
    shutil.rmtree(folders[0])
    for before, folder in zip(folders, folders[1:]):
        folder.rename(before)


def report(text):
    return lambda results: (results / "report.json").write_text(
        text if isinstance(text, str) else json.dumps(text)
    )


def one_percent_off(value):
    value = np.array(value)
    value.ravel()[-1] *= 1.01
    return value


def with_nan(value):
    value = np.array(value)
    value.ravel()[0] = np.nan
    return value


STATE, OUTPUT = "call_*/state_*.pb", "call_*/output_*.pb"
# Edit, the case meant for it, and whether the edited results must pass.
EDITS = {
    "names of two tensors swapped": (swapped_names, "algorithm/own-and-main-initializers", False),
    "int64 as int32": (
        rewritten(STATE, array(lambda value: value.astype(np.int32))),
        "state/of-algorithm",
        False,
    ),
    "scalar as a tensor of one element": (
        rewritten(STATE, array(lambda value: value.reshape(1))),
        "state/shape-scalar",
        False,
    ),
    "one element as a scalar": (
        rewritten(STATE, array(lambda value: value.reshape(()))),
        "state/shape-one-element",
        False,
    ),
    "state of load missing": (missing_state_of_load, "state/of-main-graph", False),
    "one element one percent off": (
        rewritten(OUTPUT, array(one_percent_off)),
        "state/of-main-graph",
        False,
    ),
    "NaN": (rewritten(OUTPUT, array(with_nan)), "state/of-main-graph", False),
    "stale state": (stale_state, "state/of-algorithm", False),
    "calls shifted by one": (shifted_calls, "state/of-algorithm", False),
    "double as float": (
        rewritten(STATE, array(lambda value: value.astype(np.float32))),
        "state/holds-double",
        False,
    ),
    "infinity as a large number": (
        rewritten(STATE, array(lambda value: np.nan_to_num(value, nan=np.nan))),
        "state/holds-no-numbers",
        False,
    ),
    "an output that is not there": (
        lambda results: [path.unlink() for path in files(results, OUTPUT)],
        "state/of-main-graph",
        False,
    ),
    "int4 without data": (rewritten(STATE, none_at_all), "state/holds-int4", False),
    "int4 with empty data": (rewritten(STATE, empty), "state/holds-int4", False),
    "int4 with one byte of two": (rewritten(STATE, cut), "state/holds-int4", False),
    "uint2 without data": (rewritten(STATE, none_at_all), "state/holds-uint2", False),
    "float with a byte missing": (rewritten(STATE, cut), "state/of-main-graph", False),
    "external data": (rewritten(STATE, external), "state/of-main-graph", False),
    "elements in the field of another type": (
        rewritten(STATE, typed_in_another_field),
        "state/of-main-graph",
        False,
    ),
    "a wrong tensor beside the right one": (
        wrong_value_beside_the_right_one,
        "state/of-main-graph",
        False,
    ),
    "a report that is no JSON": (report("done"), "state/of-main-graph", False),
    "an unknown status": (report({"status": "fine"}), "state/of-main-graph", False),
    "unsupported without a name": (
        report({"status": "unsupported", "message": "not yet"}),
        "state/of-main-graph",
        False,
    ),
    "a valid model refused": (
        report({"status": "refused", "message": "no"}),
        "state/of-main-graph",
        False,
    ),
    "an invalid model run": (report({"status": "done"}), "invalid/update-key-is-unknown", False),
    "int4 in int32_data": (rewritten(STATE, typed), "state/holds-int4", True),
    "uint4 in int32_data": (rewritten(STATE, typed), "state/holds-uint4", True),
    "uint2 in int32_data": (rewritten(STATE, typed), "state/holds-uint2", True),
    "float16 in int32_data": (rewritten(STATE, typed), "state/holds-float16", True),
    "float in float_data": (rewritten(STATE, typed), "state/of-main-graph", True),
    "uint64 in uint64_data": (rewritten(STATE, typed), "state/holds-uint64", True),
    "complex64 in float_data": (rewritten(STATE, typed), "state/holds-complex64", True),
    "double in double_data": (rewritten(STATE, typed), "state/holds-double", True),
}

