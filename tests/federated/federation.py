#!/usr/bin/env python3
"""federation.py ONDINE WORK: three rounds of FedAvg with Flower's SuperLink on this machine, over TLS
with an authority of the test and with node authentication. One node is Ondine, the other Python.

Checks that each round's result is the mean of what the nodes sent, weighted by their examples, that
Ondine's part has the bits of `ondine train` from the same weights, and that a node that ended joins
again under its key."""
import json
import pathlib
import shutil
import signal
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "examples" / "common"))
from superlink import SuperLink, wait_for  # noqa: E402

ROUNDS, ROWS, EXAMPLES = 3, 100, "examples of the reply"


def require(condition, message):
    assert condition, message
    return True


class Federation(SuperLink):
    def __init__(self, ondine, work):
        super().__init__(work)
        self.ondine = ondine

    def make_model(self):
        random = np.random.default_rng(3)
        x = random.normal(size=(ROWS, 6)).astype(np.float32)
        data = self.work / "data"
        data.mkdir()
        np.save(data / "x.npy", x)
        np.save(data / "y.npy", (x[:, 0] + x[:, 1] > 0).astype(np.int64))
        self.run(self.ondine, "new", "mlp", "--data", "data", "-o", "net.onnx")
        self.run(self.ondine, "prepare", "net.onnx", "-o", "train.onnx", "--loss",
                 "softmax-cross-entropy", "--optimizer", "momentum", "--learning-rate", "0.1")
        self.run(self.ondine, "export", "train.onnx", "-o", "initial.safetensors")

    def native(self, *more):
        return self.start_native("native", self.ondine, "--model", "train.onnx", "--data", "data",
                                 "--batch-size", "32", "--checkpoint", "node.ckpt", "--retry", "2m",
                                 "--train-metric", "train_loss=loss", "--evaluate-metric",
                                 "eval_loss=loss", *more)

    def register_nodes(self):
        """The node of Ondine makes its key and is refused until the key is registered."""
        refused = self.native()
        assert refused.wait(60) == 1, "a node whose key is unknown joined"
        said = (self.work / "native.log").read_text()
        assert "register the node's public key there" in said, said
        self.register("node.ckpt.key.pub")
        self.register(self.make_key("python.key") + ".pub")

    def check_round(self, number, start, records):
        replies = [np.load(file) for file in sorted(records.glob(f"round{number}_reply*.npz"))]
        assert len(replies) == 2, f"round {number} has {len(replies)} replies"
        mean = np.load(records / f"round{number}_mean.npz")
        total = sum(int(reply[EXAMPLES]) for reply in replies)
        worst = 0.0
        for name in mean.files:
            expected = sum(reply[name].astype(np.float64) * int(reply[EXAMPLES]) for reply in replies)
            worst = max(worst, float(np.abs(mean[name] - expected / total).max()))
        assert worst <= 1e-6, f"round {number} differs by {worst} from the weighted mean"
        own = [reply for reply in replies if int(reply[EXAMPLES]) == ROWS]
        assert len(own) == 1, "the reply of Ondine's node is missing"
        self.check_training(number, start, own[0])
        print(f"round {number}: weighted mean to {worst:.1e}, training to the bit")
        return {name: mean[name] for name in mean.files}

    def check_training(self, number, start, reply):
        """The same round by `ondine train`, from the same weights and with the seed of the round."""
        write_safetensors(self.work / "start.safetensors", start)
        self.run(self.ondine, "train", "train.onnx", "--data", "data", "--weights",
                 "start.safetensors", "--epochs", "2", "--batch-size", "32", "--learning-rate", "0.05",
                 "--seed", number, "-o", "trained.safetensors", "--quiet")
        for name, expected in read_safetensors(self.work / "trained.safetensors").items():
            assert np.array_equal(expected, reply[name]), f"round {number}: {name} was trained otherwise"


def read_safetensors(file):
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    result = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            values = np.frombuffer(data[8 + length:][first:last], np.float32)
            result[name] = values.reshape(entry["shape"])
    return result


def write_safetensors(file, weights):
    header, data = {}, b""
    for name, values in weights.items():
        bytes_of = np.ascontiguousarray(values, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(bytes_of)]}
        data += bytes_of
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)


def main(ondine, work):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    records = work / "records"
    records.mkdir()
    shutil.copytree(HERE / "app", work / "app")
    federation = Federation(pathlib.Path(ondine).resolve(), work)
    try:
        federation.make_model()
        federation.launch()
        federation.register_nodes()
        first = federation.native("--messages", "3")
        federation.start_python("python", "python.key")
        run = federation.start_run("app", {"weights": work / "initial.safetensors",
                                           "records": records, "num-server-rounds": ROUNDS})
        goes_on = lambda: require(run.poll() in (None, 0), "flwr run failed")
        wait_for("three messages", lambda: goes_on() and first.poll() is not None, 300)
        assert first.returncode == 0, "the first run of the node failed"
        second = federation.native("-o", "last.onnx")
        last = records / f"round{ROUNDS}_evaluation.json"
        wait_for("the last round", lambda: goes_on() and last.exists(), 300)
        time.sleep(1)
        second.send_signal(signal.SIGINT)
        assert second.wait(60) == 0, "the second run of the node failed"
        weights = read_safetensors(work / "initial.safetensors")
        for number in range(1, ROUNDS + 1):
            weights = federation.check_round(number, weights, records)
            scores = json.loads((records / f"round{number}_evaluation.json").read_text())
            assert sorted(one["num-examples"] for one in scores) == [30, ROWS], scores
        assert (work / "last.onnx").exists()
    except BaseException:
        federation.print_logs()
        raise
    finally:
        federation.end()


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
