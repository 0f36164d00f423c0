"""Computes what a case expects in two ways and compares them."""

import numpy as np
from onnx import helper

from generate.torch_session import session_of
from reference.promote import widen, widen_model
from reference.session import Session
from reference.validate import Refused

# Central differences are exact to about 1e-9, of second order to about 1e-7.
RELATIVE, ABSOLUTE = 1e-6, 1e-8


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
    """The model is refused; the one it was made from is not, and runs."""
    play(case.twin, Session(case.twin.model))
    try:
        Session(case.model)
    except Refused:
        return
    raise Disagreement(f"{case.name}: the reference accepts the model")


def expected(case):
    """The expected results of each call and the declared types."""
    if case.refused:
        must_refuse(case)
        return [], {}
    session = Session(case.model)
    second = play(case, session)
    alone = case.literal or any(call.random for call in case.calls)
    first = second if alone else play(case, session_of(widen_model(case.model)))
    for call, one, two in zip(case.calls, first, second):
        names = {**one[0], **one[1]}
        compare(case, call, names, {**two[0], **two[1]}, "by onnx.reference and differences")
        literal = {name: np.asarray(value) for name, value in call.want.items()}
        compare(case, call, names, literal, "as the case says")
        missing = set(literal) - set(names)
        if missing or (case.literal and set(names) - set(literal) - set(call.random)):
            raise Disagreement(f"{case.name}, {call.kind}: the case must say exactly {set(names)}")
    types = session.types
    return [(typed(out, types), typed(state, types)) for out, state in first], types
