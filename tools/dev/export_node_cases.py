#!/usr/bin/env python3
"""Writes the node cases of the installed package `onnx` as folders: export_node_cases.py FOLDER.

Each case becomes FOLDER/NAME/model.onnx with test_data_set_N/input_I.pb and output_I.pb, the layout
that `ondine verify` reads. The type of the graph input or output decides which message a file holds:
TensorProto, SequenceProto or OptionalProto. FOLDER/version names the package version; a folder that
holds the cases of the installed version already is left alone.
"""
import argparse
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def tensor_of(value, elem_type, name):
    if isinstance(value, TensorProto):
        return value
    array = np.asarray(value)
    tensor = numpy_helper.from_array(array, name)
    if tensor.data_type != elem_type:
        raise ValueError(f"{name}: {array.dtype} for an element type of {elem_type}")
    return tensor


def message_of(value, kind, name):
    """The message of a value with the type of its graph input or output."""
    if kind.HasField("tensor_type"):
        return tensor_of(value, kind.tensor_type.elem_type, name)
    message = onnx.SequenceProto() if kind.HasField("sequence_type") else onnx.OptionalProto()
    message.name = name
    if kind.HasField("sequence_type"):
        inner = kind.sequence_type.elem_type
        message.elem_type = type(message).TENSOR
        if not inner.HasField("tensor_type"):
            raise ValueError(f"{name}: a sequence of something other than tensors")
        message.tensor_values.extend(message_of(item, inner, "") for item in value)
    elif kind.HasField("optional_type"):
        inner = kind.optional_type.elem_type
        if value is None:
            message.elem_type = type(message).UNDEFINED
        elif inner.HasField("tensor_type"):
            message.elem_type = type(message).TENSOR
            message.tensor_value.CopyFrom(message_of(value, inner, ""))
        else:
            message.elem_type = type(message).SEQUENCE
            message.sequence_value.CopyFrom(message_of(value, inner, ""))
    else:
        raise ValueError(f"{name}: a type that has no file format")
    return message


def write_case(case, folder):
    folder.mkdir()
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        inside = folder / f"test_data_set_{number}"
        inside.mkdir()
        for prefix, ports, values in [("input", graph.input, inputs),
                                      ("output", graph.output, outputs)]:
            if len(ports) != len(values):
                raise ValueError(f"{len(values)} values for {len(ports)} graph {prefix}s")
            for i, (port, value) in enumerate(zip(ports, values)):
                message = message_of(value, port.type, port.name)
                (inside / f"{prefix}_{i}.pb").write_bytes(message.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    root = parser.parse_args().folder
    stamp = root / "version"
    if stamp.exists() and stamp.read_text(encoding="utf-8").strip() == onnx.__version__:
        return 0
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    warnings.simplefilter("ignore")  # the package divides by zero on purpose
    from onnx.backend.test.case.node import collect_testcases
    cases = collect_testcases(None) if collect_testcases.__code__.co_argcount else collect_testcases()
    problems = []
    for case in cases:
        try:
            write_case(case, root / case.name)
        except (ValueError, TypeError) as error:
            problems.append(f"{case.name}: {error}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(cases) - len(problems)} of {len(cases)} cases of onnx {onnx.__version__}")
    if problems:
        return 1
    stamp.write_text(onnx.__version__ + "\n", encoding="utf-8")
    return 0


sys.exit(main())
