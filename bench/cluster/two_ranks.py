#!/usr/bin/env python3
"""Times a step of two ranks of one thread each, beside plain `ondine train` with two threads, for
workloads of bench/models, and over a link of 1 Gbit/s.

  two_ranks.py BUILD WORK [W4 W6 W7]    the link needs root, tbf in the kernel, and MPICH with UCX

BUILD has bench_models, ondine and a shim for each MPI that is to be timed. Ways of training run in
turns, one after the other; of each the fastest epoch counts, as wall time and as processor time of
all processes. Other work on the machine makes both larger.

The link is a pair of devices between two namespaces, each limited by tbf. A step is compared with
the longer of two times: that of a rank's half of the batch without any other rank (two such
processes at once), and that of the bytes of the gradients at the rate of the link.
"""
import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

from ranks import EPOCH, epoch_seconds

SOURCE = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = {"W4": (8, 3_504_872), "W6": (8, 11_173_962), "W7": (8, 3_289_354)}  # batch, parameters
STEPS, EPOCHS = 8, 4
TURNS = int(os.environ.get("ONDINE_TURNS", "3"))
RATE = 1e9 / 8  # bytes a second
ALONE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
         "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_hwloc_base_binding_policy":
         "none"}


def write_workload(build, work, name):
    """WORK/NAME.onnx and WORK/NAME.npz with rows for STEPS steps."""
    if not (work / f"{name}.onnx").exists():
        subprocess.run([f"{build}/bin/bench_models", str(work), name], check=True)
    x, label = (np.load(work / f"{name}.{part}.npy") for part in ("x", "label"))
    np.savez(work / f"{name}.npz", x=np.concatenate([x] * STEPS),
             label=np.concatenate([label] * STEPS))


def train(build, work, name, *more):
    batch = WORKLOADS[name][0]
    return [f"{build}/bin/ondine", "train", f"{work}/{name}.onnx", "--data", f"{work}/{name}.npz",
            "--epochs", str(EPOCHS), "--seed", "1", "--on-nan", "continue",
            *(() if "--batch-size" in more else ("--batch-size", str(batch))), *more]


def seconds_of(text):
    """Of the epochs but the first."""
    return [float(one) for one in EPOCH.findall(text)][1:]


def finished(process):
    text, _ = process.communicate(timeout=900)
    if process.returncode != 0:
        sys.exit(text)
    return seconds_of(text)


def start(command, environment=()):
    return subprocess.Popen(command, env={**os.environ, **dict(environment)},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def timed(command, environment=()):
    """The fastest epoch, and the processor time of an epoch, start and end included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = min(finished(start(command, environment)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall / STEPS, used / EPOCHS / STEPS


def ways(build, work, name):
    one = ("--threads", "1")
    result = {"plain train, 2 threads": (train(build, work, name, "--threads", "2"), ALONE)}
    for mpi in ("openmpi", "mpich"):
        if not pathlib.Path(f"{build}/bin/libondine_mpi_{mpi}.so").exists():
            continue
        ranks = [f"mpirun.{mpi}", "-n", "2"]
        for label, more in (("--micro-shards 2", ("--micro-shards", "2")),
                            ("--fast-reduce", ("--fast-reduce",))):
            result[f"{mpi}, {label}"] = (ranks + train(build, work, name, *one, *more), ALONE)
    return result


def compare(build, work, name):
    best = {}
    for _ in range(TURNS):
        for way, (command, environment) in ways(build, work, name).items():
            wall, used = timed(command, environment)
            old = best.get(way, (wall, used))
            best[way] = (min(wall, old[0]), min(used, old[1]))
    plain = best["plain train, 2 threads"]
    for way, (wall, used) in best.items():
        print(f"{name} {way:28s} {1000 * wall:7.0f} ms, {1000 * used:7.0f} ms of processors, "
              f"throughput {plain[0] / wall:.2f}, by processors {plain[1] / used:.2f}", flush=True)


class Link:
    """Two namespaces with a device link0 in each, limited to RATE."""

    def __init__(self):
        self.names = [f"ondine{os.getpid()}_{i}" for i in range(2)]
        run = lambda *words: subprocess.run(words, check=True, capture_output=True)  # noqa: E731
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            run("ip", "link", "add", "link0", "netns", self.names[0], "type", "veth", "peer", "name",
                "link0", "netns", self.names[1])
            for number, name in enumerate(self.names):
                inside = self.inside(number)
                run(*inside, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
                run(*inside, "ip", "link", "set", "lo", "up")
                run(*inside, "ip", "addr", "add", f"10.78.0.{number + 1}/24", "dev", "link0")
                run(*inside, "ip", "link", "set", "link0", "up")
                run(*inside, "tc", "qdisc", "add", "dev", "link0", "root", "tbf", "rate", "1gbit",
                    "burst", "256k", "latency", "50ms")
            while any(self.state(number) != "up" for number in range(2)):
                time.sleep(0.1)  # the kernel takes up to a second
        except BaseException:
            self.close()
            raise

    def inside(self, number):
        return ["ip", "netns", "exec", self.names[number]]

    def state(self, number):
        return subprocess.run([*self.inside(number), "cat", "/sys/class/net/link0/operstate"],
                              check=True, capture_output=True, text=True).stdout.strip()

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def over_link(command):
    """The fastest epoch of two ranks of MPICH that talk over the link."""
    return min(epoch_seconds(Link(), 2, command, EPOCHS)[1:]) / STEPS


def compare_over_link(build, work, name):
    batch, parameters = WORKLOADS[name]
    half = ("--threads", "1", "--batch-size", str(batch // 2), "--max-steps",
            str(EPOCHS * STEPS * 2))
    times = {}
    for _ in range(TURNS):
        alone = [start(train(build, work, name, *half)) for _ in range(2)]
        # An epoch has twice as many steps of half the rows.
        computing = sum(min(finished(one)) / 2 / STEPS for one in alone) / 2
        times["computing"] = min(times.get("computing", computing), computing)
        for wire in ("float32", "bfloat16"):
            step = over_link(train(build, work, name, "--threads", "1", "--fast-reduce",
                                   "--wire-dtype", wire))
            times[wire] = min(times.get(wire, step), step)
    for wire, size in (("float32", 4), ("bfloat16", 2)):
        transfer = size * parameters / RATE  # out and in at the same time, twice a half
        longer = max(times["computing"], transfer)
        print(f"{name} over 1 Gbit/s, {wire}: {1000 * times[wire]:.0f} ms a step, computing "
              f"{1000 * times['computing']:.0f} ms, transfer {1000 * transfer:.0f} ms: "
              f"{times[wire] / longer:.2f} of the longer", flush=True)


def main(build, work, *names):
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    for name in names or WORKLOADS:
        write_workload(build, work, name)
        compare(build, work, name)
        if os.geteuid() == 0:
            compare_over_link(build, work, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
