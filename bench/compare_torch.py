#!/usr/bin/env python3
"""Compares training steps of the workloads W1 to W9, or of L1 and L2, with PyTorch.

Builds each workload in PyTorch from the initializers of the same .onnx file, compares the losses of
the first steps, and then times blocks of steps of both programs in turns, each in a process of its
own. Figures of one run compare; those of different runs do not.

  bench/compare_torch.py --threads 2 --workloads W1,W3
  bench/compare_torch.py --profile --workloads W4
  bench/compare_torch.py --precision bf16 --tuned
"""

import argparse
import json
import pathlib
import sys
import tempfile

from ondine_process import build_programs, ondine_process, write_models
from peer_process import (CHECKED_STEPS, TOLERANCE, PeerError, Process, check_losses, serve,
                          time_in_turns)

HERE = pathlib.Path(__file__).resolve().parent


def serve_torch(workload, folder, options):
    """The other side of Process, with PyTorch."""
    import numpy
    import torch

    import onnx_initializers
    import torch_models

    def make_step():
        torch.set_num_threads(options.threads)
        return torch_models.workload_step(
            workload, onnx_initializers.read(folder / f"{workload}.onnx"),
            numpy.load(folder / f"{workload}.x.npy"), numpy.load(folder / f"{workload}.label.npy"),
            bf16=options.precision == "bf16", tuned=options.tuned)

    serve(make_step)


def compare(workload, title, gflop, folder, options):
    ours = ondine_process(workload, folder, options, options.ours)
    if options.profile:
        ours.steps(3)
        words = ours.ask("profile 10")
        print(f"{workload} {title}")
        for name, ms, calls in zip(words[0::3], words[1::3], words[2::3]):
            print(f"  {name:36} {float(calls):7.1f} calls {float(ms):10.4f} ms")
        ours.close()
        return None
    theirs = Process([sys.executable, str(HERE / "compare_torch.py"), "--serve", workload,
                      "--models", str(folder), "--threads", str(options.threads),
                      "--precision", options.precision, *(["--tuned"] if options.tuned else [])],
                     options.threads)
    first, our_losses = ours.steps(CHECKED_STEPS)
    their_first, their_losses = theirs.steps(CHECKED_STEPS)
    check_losses(our_losses, their_losses, TOLERANCE[options.precision])
    ours_ms, torch_ms = time_in_turns(ours, theirs, max(first[-1], their_first[-1]),
                                      options.blocks)
    mb, their_mb = ours.memory(), theirs.memory()
    peak = float(ours.ask("peak")[0]) * options.threads
    ours.close(), theirs.close()
    return {"workload": f"{workload} {title}", "threads": options.threads,
            "precision": options.precision, "ours_ms": ours_ms,
            "torch_ms": torch_ms, "ratio": torch_ms / ours_ms,
            "peak_share": gflop / ours_ms * 1e3 / peak, "ours_mb": mb, "torch_mb": their_mb}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="of both programs")
    parser.add_argument("--precision", choices=list(TOLERANCE), default="float32",
                        help="of both programs; bf16: autocast in PyTorch")
    parser.add_argument("--tuned", action="store_true",
                        help="PyTorch with channels_last and fused optimizers")
    parser.add_argument("--workloads", help="W1,L1: these only")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--profile", action="store_true", help="print time by operator, no PyTorch")
    parser.add_argument("--blocks", type=int, default=9, help="timed blocks of each program")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    parser.add_argument("--no-build", action="store_true", help="programs are up to date")
    parser.add_argument("--models", type=pathlib.Path, help="keep the models in this folder")
    parser.add_argument("--ours", nargs="*", default=[],
                        help="immediate updates, and a memory budget in bytes: --ours immediate 300000000")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve_torch(options.serve, options.models, options)
    from workloads import DEFAULT, WORKLOADS
    chosen = options.workloads.split(",") if options.workloads else DEFAULT
    for name in chosen:
        if name not in WORKLOADS:
            parser.error(f"there is no workload {name}; there are {', '.join(WORKLOADS)}")
    if not options.no_build:
        build_programs(options.build)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.models or pathlib.Path(temporary)
        write_models(chosen, folder, options.build)
        rows = []
        if not options.json and not options.profile:
            print(f"{'workload':50} {'ours ms':>9} {'torch ms':>9} {'ratio':>6} {'peak':>6} "
                  f"{'ours MB':>8} {'torch MB':>8}")
        for name in chosen:
            try:
                row = compare(name, *WORKLOADS[name], folder, options)
            except PeerError as error:
                raise SystemExit(f"{name}: {error}")
            if row is None:
                continue
            rows.append(row)
            if not options.json:
                print(f"{row['workload']:50} {row['ours_ms']:9.3f} {row['torch_ms']:9.3f} "
                      f"{row['ratio']:5.2f}x {row['peak_share']:6.1%} {row['ours_mb']:8.1f} "
                      f"{row['torch_mb']:8.1f}", flush=True)
        if options.json:
            print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
