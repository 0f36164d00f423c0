#!/usr/bin/env python3
"""recovery.py ONDINE WORK: two nodes whose SuperLink is killed and started again without memory of
them join the new one; one of them is killed while it trains and started again. The run has the
replies of both in every round, and that of the killed node has the bits of `ondine train`."""
import os
import pathlib
import shutil
import signal
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "examples" / "common")]
from federation import EXAMPLES, read_safetensors, require  # noqa: E402
from superlink import SuperLink, wait_for  # noqa: E402

ROUNDS, ROWS = 2, (600000, 500)  # the first node trains for some seconds
BATCH = "2"


def kill_all_of(process):
    """The process and what it started, which would otherwise serve the next SuperLink for a while
    and then end what runs there."""
    def tree(pid):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid] + [one for child in children for one in tree(int(child))]

    for pid in tree(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()


class Nodes(SuperLink):
    def __init__(self, ondine, work):
        super().__init__(work, tls=False)
        self.ondine = ondine

    def make_model(self):
        for number, rows in enumerate(ROWS):
            random = np.random.default_rng(number)
            x = random.normal(size=(rows, 6)).astype(np.float32)
            data = self.work / f"data{number}"
            data.mkdir()
            np.save(data / "x.npy", x)
            np.save(data / "y.npy", (x[:, 0] + x[:, 1] > 0).astype(np.int64))
        self.run(self.ondine, "new", "mlp", "--data", "data1", "-o", "net.onnx")
        self.run(self.ondine, "prepare", "net.onnx", "-o", "train.onnx", "--loss",
                 "softmax-cross-entropy", "--optimizer", "momentum", "--learning-rate", "0.1")
        self.run(self.ondine, "export", "train.onnx", "-o", "initial.safetensors")

    def node(self, number):
        return self.start_native(f"native{number}", self.ondine, "--model", "train.onnx", "--data",
                                 f"data{number}", "--batch-size", BATCH, "--checkpoint",
                                 f"node{number}.ckpt", "--retry", "2m")

    def joins(self):
        return (self.work / "superlink.log").read_text().count('activate-node HTTP/1.1" 200')

    def check_first_round(self, records):
        """What the killed node sent in round 1."""
        replies = [np.load(file) for file in sorted(records.glob("round1_reply*.npz"))]
        own = [reply for reply in replies if int(reply[EXAMPLES]) == ROWS[0]]
        assert len(own) == 1, "the killed node sent no reply"
        self.run(self.ondine, "train", "train.onnx", "--data", "data0", "--weights",
                 "initial.safetensors", "--epochs", "2", "--batch-size", BATCH, "--learning-rate",
                 "0.05", "--seed", "1", "-o", "trained.safetensors", "--quiet")
        for name, expected in read_safetensors(self.work / "trained.safetensors").items():
            assert np.array_equal(expected, own[0][name]), f"{name} was trained otherwise"


def main(ondine, work):
    shutil.rmtree(work, ignore_errors=True)
    records = work / "records"
    records.mkdir(parents=True)
    shutil.copytree(HERE / "app", work / "app")
    nodes = Nodes(pathlib.Path(ondine).resolve(), work)
    try:
        nodes.make_model()
        link = nodes.launch()
        first, second = nodes.node(0), nodes.node(1)
        wait_for("both nodes", lambda: nodes.joins() >= 2)
        kill_all_of(link)
        nodes.launch()
        wait_for("both nodes at the new SuperLink", lambda: nodes.joins() >= 4)
        assert first.poll() is None and second.poll() is None, "a node ended with its SuperLink"
        run = nodes.start_run("app", {"weights": work / "initial.safetensors", "records": records,
                                      "num-server-rounds": ROUNDS})
        goes_on = lambda: require(run.poll() in (None, 0), "flwr run failed")
        message = work / "node0.ckpt.message"
        wait_for("a message of the first node", lambda: goes_on() and message.exists())
        time.sleep(0.2)
        first.kill()
        first.wait()
        assert message.exists(), "the node had replied before it was killed"
        nodes.node(0)
        wait_for("the run", lambda: goes_on() and run.poll() is not None, 300)
        for number in range(1, ROUNDS + 1):
            found = len(list(records.glob(f"round{number}_reply*.npz")))
            assert found == 2, f"round {number} has {found} replies"
        nodes.check_first_round(records)
        print("nodes outlived their SuperLink, and a killed node finished its round to the bit")
    except BaseException:
        nodes.print_logs()
        raise
    finally:
        nodes.end()


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
