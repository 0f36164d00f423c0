# SPDX-License-Identifier: Apache-2.0
"""Compares a tensor with the expected one."""

import math

from suite.tensors import FLOATING


def same_number(got, want, relative, absolute):
    if math.isnan(want):
        return math.isnan(got)
    if math.isinf(want) or math.isinf(got) or math.isnan(got):
        return got == want
    return abs(got - want) <= absolute + relative * abs(want)


def difference(got, want, tolerance):
    """What is wrong with `got`, or None."""
    if got.type != want.type or got.dims != want.dims:
        return f"is {got.describe()}, expected {want.describe()}"
    relative, absolute = tolerance if want.type in FLOATING else (0, 0)
    for i, (one, other) in enumerate(zip(got.values, want.values)):
        right = (
            same_number(one, other, relative, absolute) if want.type in FLOATING else one == other
        )
        if not right:
            return f"element {i} is {one!r}, expected {other!r}"
    return None
