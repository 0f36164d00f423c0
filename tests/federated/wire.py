#!/usr/bin/env python3
"""wire.py ONDINE WORK: what two nodes send to the SuperLink, without TLS and through a proxy that
keeps it, is the declared arrays, metrics and numbers of the protocol, and nothing of their rows: also
where the model trains with privacy."""
import csv
import hashlib
import io
import json
import pathlib
import re
import shutil
import sys

import numpy as np
from flwr.proto import fleet_pb2, heartbeat_pb2, message_pb2, recorddict_pb2

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "examples" / "common")]
from federation import read_safetensors  # noqa: E402
from proxy import Proxy  # noqa: E402
from superlink import SuperLink, wait_for  # noqa: E402

ROUNDS, ROWS, COLUMNS = 2, 64, 6
CLASSES = ["confidential_a", "confidential_b", "confidential_c"]
METRICS = {"loss", "accuracy", "num-examples"}
HEADERS = {"host", "accept", "content-type", "content-length", "user-agent", "flwr-public-key",
           "flwr-timestamp", "flwr-signature", "flwr-package-name", "flwr-package-version",
           "flwr-component-name"}
REQUESTS = {
    "register-node": fleet_pb2.RegisterNodeFleetRequest,
    "activate-node": fleet_pb2.ActivateNodeRequest,
    "deactivate-node": fleet_pb2.DeactivateNodeRequest,
    "send-node-heartbeat": heartbeat_pb2.SendNodeHeartbeatRequest,
    "pull-messages": fleet_pb2.PullMessagesRequest,
    "pull-object": message_pb2.PullObjectRequest,
    "confirm-message-received": message_pb2.ConfirmMessageReceivedRequest,
    "push-messages": fleet_pb2.PushMessagesRequest,
    "push-object": message_pb2.PushObjectRequest,
}


def write_rows(file, seed):
    """A table with names of columns and classes that nobody else is to see. Returns its numbers."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(ROWS, COLUMNS)).round(7)
    with open(file, "w", newline="", encoding="ascii") as stream:
        writer = csv.writer(stream)
        writer.writerow([f"hidden_column_{i}" for i in range(COLUMNS)] + ["hidden_target"])
        for row in values:
            writer.writerow([f"{value:.7f}" for value in row]
                            + [CLASSES[int(abs(row[0] * 5)) % len(CLASSES)]])
    return values


def secrets_of(tables):
    """What may not be in what is sent: names, and neighbouring numbers of rows as text and as bytes."""
    found = [name.encode() for name in CLASSES] + [b"hidden_column", b"hidden_target", b".csv"]
    for row in np.concatenate(tables):
        for pair in (row[:2], row[2:4], row[4:6]):
            found += [f"{pair[0]:.7f}".encode(), pair.astype("<f4").tobytes(),
                      pair.astype("<f8").tobytes(), pair.astype(">f4").tobytes()]
    return found


def leaks(data, secrets):
    return [one for one in secrets if one in data]


def requests_of(stream):
    """Path, headers and body of each HTTP request."""
    stream, result = bytes(stream), []
    while stream:
        head, end, stream = stream.partition(b"\r\n\r\n")
        assert end, f"half a request: {head[:200]!r}"
        first, *lines = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
        length = int(headers["content-length"])
        result.append((first, headers, stream[:length]))
        stream = stream[length:]
    return result


def parsed(kind, data):
    """The message, which may have no fields but those that Flower declares."""
    message = kind()
    message.ParseFromString(data)
    size = message.ByteSize()
    message.DiscardUnknownFields()
    assert message.ByteSize() == size, f"{kind.__name__} has fields of its own"
    return message


class Pushed:
    """The objects that a node pushed, by kind; each is checked for what it may hold."""

    def __init__(self, weights):
        self.weights = weights
        self.bodies, self.kinds, self.children = {}, {}, {}
        self.arrays = {}  # of ArrayRecords: name -> ids of Arrays

    def add(self, content):
        head, _, body = content.partition(b"\0")
        kind, children, length = head.decode("ascii").split(" ")
        assert int(length) == len(body), "an object of another length"
        key = hashlib.sha256(content).hexdigest()
        self.bodies[key], self.kinds[key] = body, kind
        self.children[key] = children.split(",") if children else []
        getattr(self, f"check_{kind}")(body, self.children[key])

    def check_Message(self, body, children):
        message = parsed(message_pb2.Message, body)
        assert not message.HasField("error") and len(children) == 1, message
        assert not message.content.ByteSize(), "a message has content beside its objects"

    def check_RecordDict(self, body, children):
        assert set(json.loads(body)) <= {"arrays", "metrics", "config"} and children

    def check_ArrayRecord(self, body, _):
        names = json.loads(body)
        assert set(names) == set(self.weights), f"arrays {sorted(names)}"
        for name, key in names.items():
            self.arrays.setdefault(name, []).append(key)

    def check_MetricRecord(self, body, _):
        record = parsed(recorddict_pb2.MetricRecord, body)
        assert {item.key for item in record.items} <= METRICS, record

    def check_Array(self, body, children):
        array = json.loads(body)
        assert set(array) == {"dtype", "shape", "stype", "arraychunk_ids"} and children, array

    def check_ArrayChunk(self, *_):
        pass  # part of an array, see check_arrays

    def check_arrays(self):
        """Each chunk belongs to an array, and each array is a .npy file of the declared shape and
        of no byte more."""
        used = set()
        for name, keys in self.arrays.items():
            for key in keys:
                array = json.loads(self.bodies[key])
                chunks = [self.children[key][number] for number in array["arraychunk_ids"]]
                used.update(chunks)
                stream = io.BytesIO(b"".join(self.bodies[one] for one in chunks))
                value = np.load(stream, allow_pickle=False)
                assert not stream.read(), f"array {name} has bytes behind it"
                expected = self.weights[name]
                assert value.shape == expected.shape and value.dtype == expected.dtype, name
                assert array["shape"] == list(expected.shape), name
        unused = {key for key, kind in self.kinds.items() if kind == "ArrayChunk"} - used
        assert not unused, f"{len(unused)} chunks belong to no array"
        return len(used)


def check_stream(streams, weights, secrets):
    pushed, calls = Pushed(weights), {}
    for stream in streams:
        for first, headers, body in requests_of(stream):
            name = re.fullmatch(r"POST /v1/fleet/([a-z-]+) HTTP/1\.1", first)
            assert name and name[1] in REQUESTS, f"an unknown call: {first}"
            assert set(headers) <= HEADERS, f"headers {sorted(set(headers) - HEADERS)}"
            message = parsed(REQUESTS[name[1]], body)
            calls[name[1]] = calls.get(name[1], 0) + 1
            if name[1] == "push-object":
                pushed.add(message.object_content)
            if name[1] == "push-messages":
                for one in message.messages_list:
                    assert not one.content.ByteSize(), "a message has content beside its objects"
    data = b"".join(map(bytes, streams))
    found = leaks(data, secrets)
    assert not found, f"sent in clear: {found[:3]}"
    return calls, pushed.check_arrays(), len(data)


def federate(ondine, work, name, prepare, batch):
    folder = work / name
    records = folder / "records"
    records.mkdir(parents=True)
    shutil.copytree(HERE / "app", folder / "app")
    tables = [write_rows(folder / f"rows{number}.csv", number) for number in range(2)]
    link = SuperLink(folder, tls=False)
    link.run(ondine, "new", "mlp", "--data", "rows0.csv", "-o", "net.onnx")
    link.run(ondine, "prepare", "net.onnx", "-o", "train.onnx", "--loss", "softmax-cross-entropy",
             *prepare)
    link.run(ondine, "export", "train.onnx", "-o", "initial.safetensors")
    weights = read_safetensors(folder / "initial.safetensors")
    try:
        link.launch()
        proxy = Proxy(link.port)
        link.nodes_port = proxy.port
        for number in range(2):
            link.start_native(f"native{number}", ondine, "--model", "train.onnx", "--data",
                              f"rows{number}.csv", "--batch-size", batch)
        run = link.start_run("app", {"weights": folder / "initial.safetensors", "records": records,
                                     "num-server-rounds": ROUNDS})
        wait_for("the run", lambda: run.poll() is not None)
        assert run.returncode == 0, "the run failed"
        assert len(list(records.glob("*_reply*.npz"))) == 2 * ROUNDS, "replies are missing"
    except BaseException:
        link.print_logs()
        raise
    finally:
        link.end()
    secrets = secrets_of(tables)
    sample = bytes(proxy.sent[0])
    for planted in (CLASSES[1].encode(), tables[1][ROWS - 1, 2:4].astype("<f4").tobytes()):
        assert leaks(sample + planted, secrets) == [planted], "the search finds no planted secret"
    calls, chunks, size = check_stream(proxy.sent, weights, secrets)
    assert chunks >= len(weights) and calls["push-messages"] >= 4 * ROUNDS, (chunks, calls)
    print(f"{name}: {sum(calls.values())} calls, {size} bytes, {chunks} arrays of "
          f"{', '.join(sorted(weights))}; nothing else")


def main(ondine, work):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    ondine = pathlib.Path(ondine).resolve()
    federate(ondine, work, "plain", [], "16")
    federate(ondine, work, "private", ["--dp-clip", "1", "--dp-noise", "1.1", "--dp-batch", "16"],
             "16")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
