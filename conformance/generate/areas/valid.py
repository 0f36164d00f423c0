# SPDX-License-Identifier: Apache-2.0
"""The valid models from which those of `invalid` differ in one place; they must run."""

from generate.areas import invalid, invalid_operators

FOLDER = "valid"


def cases():
    yield from invalid.valid_cases().values()
    yield from invalid_operators.valid_cases().values()
