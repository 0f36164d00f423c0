# SPDX-License-Identifier: Apache-2.0
"""Computes what a case expects in two ways and compares them."""

import numpy as np
from onnx import TensorProto, helper

from generate import build, describe
from reference.promote import widen, widen_model
from reference.session import Session
from reference.validate import Refused

# Central differences are exact to about 1e-9, of second order to about 1e-7.
RELATIVE, ABSOLUTE = 1e-6, 1e-8


def torch_session(case):
    from generate.torch_session import session_of  # pylint: disable=import-outside-toplevel

    return session_of(widen_model(case.model))


class Disagreement(Exception):
    """The two ways give different values."""


def same(one, other, relative):
    one, other = widen(one), widen(other)
    if one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        return np.allclose(one, other, relative, relative * ABSOLUTE / RELATIVE, equal_nan=True)
    return np.array_equal(one, other)


def compare(case, call, first, second, how):
    relative = case.agreement or RELATIVE
    for name, value in second.items():
        if name not in first or name in call.random or same(first[name], value, relative):
            continue
        raise Disagreement(f"{call.kind}, '{name}': {first[name]} and, {how}, {value}")


def play(case, session):
    """Outputs and state after each call."""
    results = []
    for call in case.calls:
        outputs = {}
        if call.kind == "initialize":
            session.initialize()
        for algorithm in call.algorithms:
            session.train(algorithm, call.feeds, [])
        if call.kind == "train":
            outputs = session.train(call.algorithm, call.feeds, call.outputs)
        if call.kind == "infer":
            outputs = session.infer(call.feeds, call.outputs)
        results.append((outputs, {name: np.array(session.state[name]) for name in case.keys}))
    return results


def typed(values, types):
    return {
        name: np.asarray(value).astype(helper.tensor_dtype_to_np_dtype(types[name]))
        for name, value in values.items()
    }


def must_refuse(case):
    """The model is refused; its twin is written as a case of its own and runs."""
    try:
        Session(case.model)
    except Refused:
        return
    raise Disagreement(f"{case.name}: the reference accepts the model")


def single_precision_fails(case, results, types):
    """Whether some expected double is no float32 number within the tolerance."""
    plan = case.plan(set(types.values()), list(build.floating(results)))
    relative, absolute = plan["tolerance"]
    for pair in results:
        for value in (one for values in pair for one in values.values()):
            if value.dtype != np.float64:
                continue
            narrow = value.astype(np.float32).astype(np.float64)
            if not np.all(np.abs(narrow - value) <= absolute + relative * np.abs(value)):
                return True
    return False


def check_precision(case, results, types):
    """A runtime that computes a case of doubles in single precision must fail."""
    kinds = {one for one in types.values() if one in describe.DIFFERENTIABLE}
    if kinds == {TensorProto.DOUBLE} and not any(call.random for call in case.calls):
        if not single_precision_fails(case, results, types):
            raise Disagreement(f"{case.name}: float32 numbers would pass as double")


def expected(case, with_torch=True):
    """The expected results of each call and the declared types."""
    if case.refused:
        must_refuse(case)
        return [], {}
    session = Session(case.model)
    second = play(case, session)
    alone = not with_torch or case.literal or any(call.random for call in case.calls)
    first = second if alone else play(case, torch_session(case))
    for call, one, two in zip(case.calls, first, second):
        names = {**one[0], **one[1]}
        compare(case, call, names, {**two[0], **two[1]}, "by onnx.reference and differences")
        literal = {name: np.asarray(value) for name, value in call.want.items()}
        compare(case, call, names, literal, "as the case says")
        missing = set(literal) - set(names)
        if missing or (case.literal and set(names) - set(literal) - set(call.random)):
            raise Disagreement(f"{case.name}, {call.kind}: the case must say exactly {set(names)}")
    types = session.types
    results = [(typed(out, types), typed(state, types)) for out, state in first]
    check_precision(case, results, types)
    return results, types
