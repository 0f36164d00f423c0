#!/usr/bin/env python3
"""Times a step of several ranks over a network with a given latency and bandwidth, and compares it
with the model of docs/scaling.md.

  scaling.py BUILD WORK    needs root, MPICH with UCX, and WORK/train.onnx and WORK/rows

Ranks are processes in namespaces of this machine, whose packets delayed_network.py delays. Prints a
line for each network and number of ranks: the lower quartile of the steps, and what the model says,
whose two constants for each number of ranks come from the first two networks.
"""
import statistics
import sys

from delayed_network import DelayedNetwork
from ranks import epoch_seconds

ROWS, BATCH, EPOCHS = 192, 64, 10  # three steps an epoch, whose time is printed
PARAMETERS = 206922
FAST = 1e10
NETWORKS = ((0.0, FAST), (0.02, FAST), (0.005, FAST), (0.0, 5e6), (0.01, 10e6))


def step_seconds(build, work, ranks, latency, bandwidth):
    """The lower quartile over the epochs, and the bytes that a rank sent in a step."""
    network = DelayedNetwork(ranks, latency, bandwidth)
    train = [f"{build}/bin/ondine", "train", f"{work}/train.onnx", "--data", f"{work}/rows",
             "--epochs", str(EPOCHS), "--batch-size", str(BATCH), "--seed", "1", "--threads", "1",
             "--initialize", "--micro-shards", "4"]
    carried = []
    seconds = epoch_seconds(network, ranks, train, EPOCHS,
                            lambda: carried.append(network.carried))
    steps = ROWS // BATCH
    sent = (carried[-1] - carried[0]) / (EPOCHS - 1) / steps / ranks
    return statistics.quantiles(seconds[1:], n=4)[0] / steps, sent


def main(build, work):
    print("ranks  latency  bandwidth  bytes of a rank  measured    model")
    for ranks in (1, 2, 4):
        volume = 2 * (ranks - 1) / ranks * 4 * PARAMETERS
        computing = waits = 0.0
        for number, (latency, bandwidth) in enumerate(NETWORKS if ranks > 1 else NETWORKS[:1]):
            measured, sent = step_seconds(build, work, ranks, latency, bandwidth)
            if number == 0:
                computing = measured
            if number == 1:
                waits = (measured - computing) / latency
            model = computing + waits * latency + volume / bandwidth
            print(f"{ranks:5d} {1000 * latency:5.0f} ms {bandwidth / 1e6:6.0f} MB/s {sent:16.0f} "
                  f"{1000 * measured:6.0f} ms {1000 * model:6.0f} ms"
                  + ("  (from this line)" if number < 2 else f"  {measured / model:.2f}"), flush=True)
        print(f"{ranks} ranks: {1000 * computing:.0f} ms without a delay, {waits:.0f} times the "
              f"latency, {volume:.0f} bytes of each rank by the model", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
