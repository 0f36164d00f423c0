"""FedAvg over the weights of a .safetensors file; writes each round's replies and result as .npz."""
import json
import pathlib

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


def weights_of(file):
    """The float32 tensors of a .safetensors file."""
    data = pathlib.Path(file).read_bytes()
    length = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        values = np.frombuffer(data[8 + length:][first:last], np.float32)
        weights[name] = values.reshape(entry["shape"])
    return weights


class RecordedFedAvg(FedAvg):
    """Keeps what it gets and what it makes of it."""

    def __init__(self, folder):
        super().__init__()
        self.folder = pathlib.Path(folder)

    def aggregate_train(self, server_round, replies):
        replies = list(replies)
        for number, reply in enumerate(replies):
            name = f"round{server_round}_reply{number}"
            if reply.has_error():
                (self.folder / f"{name}.txt").write_text(reply.error.reason)
                continue
            arrays = next(iter(reply.content.array_records.values()))
            metrics = next(iter(reply.content.metric_records.values()))
            np.savez(self.folder / f"{name}.npz",
                     **{"examples of the reply": metrics["num-examples"]},
                     **{key: array.numpy() for key, array in arrays.items()})
        arrays, metrics = super().aggregate_train(server_round, replies)
        if arrays is not None:
            np.savez(self.folder / f"round{server_round}_mean.npz",
                     **{key: array.numpy() for key, array in arrays.items()})
        return arrays, metrics

    def aggregate_evaluate(self, server_round, replies):
        replies = list(replies)
        metrics = super().aggregate_evaluate(server_round, replies)
        file = self.folder / f"round{server_round}_evaluation.json"
        file.write_text(json.dumps([dict(next(iter(reply.content.metric_records.values())))
                                    for reply in replies if not reply.has_error()]))
        return metrics


@app.main()
def main(grid: Grid, context: Context) -> None:
    weights = weights_of(context.run_config["weights"])
    initial = ArrayRecord({name: Array(np.ascontiguousarray(one)) for name, one in weights.items()})
    RecordedFedAvg(context.run_config["records"]).start(
        grid=grid, initial_arrays=initial,
        num_rounds=int(context.run_config["num-server-rounds"]),
        train_config=ConfigRecord({"epochs": 2, "learning-rate": 0.05}))
