"""What private steps cost (docs/privacy.md)."""

from __future__ import annotations

from typing import Iterable

from . import _ondine


def privacy_epsilon(steps: Iterable[tuple[float, float, int]], delta: float) -> float:
    """The epsilon that all steps together have spent at `delta`; inf without noise.

    `steps`: tuples of noise, the probability of a row to be in a batch, and a number of steps.
    """
    return float(_ondine.epsilon([(noise, rate, count) for noise, rate, count in steps], delta))


def noise_for(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The least noise with which so many steps cost at most `epsilon`."""
    return float(_ondine.noise_for(epsilon, delta, rate, steps))
