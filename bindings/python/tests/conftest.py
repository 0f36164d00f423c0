"""Models for the tests, written by tests/bindings/program/models.cpp into $ONDINE_MODELS."""

import os
import pathlib

import numpy as np
import pytest


@pytest.fixture
def models() -> pathlib.Path:
    return pathlib.Path(os.environ["ONDINE_MODELS"])


@pytest.fixture
def batch() -> dict:
    return {"image": np.eye(4, dtype=np.float32), "label": np.array([0, 1, 2, 0])}
