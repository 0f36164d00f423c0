"""A client of the kind that the run asks for: `ondine`, `torch`, or `empty`, which sends back what
it got. Each answer adds a line to a file of its process: seconds in the answer, and the most memory
that the process has had, in KiB."""
import os
import pathlib
import resource
import time

import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

BATCH = 32
app = ClientApp()


def place(context, name):
    return pathlib.Path(context.run_config["work"]) / name


def with_ondine(message, context, part):
    import ondine_train as ondine
    from ondine_train.flower import client_app

    client = client_app(lambda _: ondine.load(place(context, "train.onnx"), threads=1),
                        place(context, f"part{part}"), batch_size=BATCH)
    return client(message, context)


def reply(message, arrays, metrics):
    content = RecordDict({"arrays": arrays, "metrics": MetricRecord(metrics)})
    return Message(content, reply_to=message)


def with_nothing(message, context, part):
    return reply(message, message.content["arrays"], {"loss": 0.0, "num-examples": 1})


def read(file):
    data = np.fromfile(file, np.uint8)
    shape = data[4:4 + 4 * data[3]].view(">u4")
    return data[4 + 4 * data[3]:].reshape(shape)


def make_network(torch, weights):
    """The network of examples/common/cnn.h, whose Gemm multiplies with matrices [in, out]."""
    nn = torch.nn
    network = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 128), nn.ReLU(),
        nn.Linear(128, 10))
    layers = {"conv1": network[0], "conv2": network[3], "fc": network[7], "head": network[9]}
    parameters = {f"{name}.{short}": getattr(layer, long) for name, layer in layers.items()
                  for short, long in (("w", "weight"), ("b", "bias"))}
    with torch.no_grad():
        for name, parameter in parameters.items():
            value = torch.from_numpy(weights[name].copy())
            parameter.copy_(value.T if name in ("fc.w", "head.w") else value)
    return network, parameters


def with_torch(message, context, part):
    import torch

    torch.set_num_threads(1)
    arrays = message.content["arrays"]
    config = message.content["config"]
    network, parameters = make_network(torch, {name: one.numpy() for name, one in arrays.items()})
    folder = place(context, f"part{part}")
    x = torch.from_numpy(read(folder / "train-images-idx3-ubyte")[:, None].astype(np.float32) / 255)
    y = torch.from_numpy(read(folder / "train-labels-idx1-ubyte").astype(np.int64))
    optimizer = torch.optim.SGD(network.parameters(), lr=config["learning-rate"], momentum=0.9)
    order = torch.Generator().manual_seed(int(config["server-round"]))
    losses = []
    for _ in range(config["epochs"]):
        for rows in torch.randperm(len(y), generator=order).split(BATCH):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    trained = {}
    for name in arrays:
        value = parameters[name].detach()
        trained[name] = Array((value.T if name in ("fc.w", "head.w") else value).numpy().copy())
    return reply(message, ArrayRecord(trained),
                 {"loss": sum(losses) / len(losses), "num-examples": len(y)})


KINDS = {"ondine": with_ondine, "torch": with_torch, "empty": with_nothing}


@app.train()
def train(message, context):
    start = time.perf_counter()
    part = message.content["config"].pop("part")
    answer = KINDS[context.run_config["client"]](message, context, part)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open(pathlib.Path(context.run_config["records"]) / f"{os.getpid()}.times", "a",
              encoding="ascii") as times:
        times.write(f"{seconds} {memory}\n")
    return answer
