"""The command line `ondine`, which lies beside this file in wheels that have it."""

import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line with the arguments of this program, in its place."""
    program = Path(__file__).with_name("ondine")
    if not program.exists():
        sys.exit("ondine: this wheel was built without the command line")
    os.execv(program, [str(program), *sys.argv[1:]])
