"""FedAvg from the same weights and over the same parts of the data in each round, whatever the
clients are."""
import pathlib
import random

import ondine_train as ondine
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from ondine_train.flower import server_app


class OfParts(FedAvg):
    """FedAvg that says which part of the data a node has, since the numbers of simulated nodes are
    others in every run. Ends the run where a node fails."""

    def configure_train(self, server_round, arrays, config, grid):
        nodes = list(grid.get_node_ids())
        count = max(2, round(len(nodes) * self.fraction_train))
        parts = random.Random(server_round).sample(range(len(nodes)), count)
        settings = {**config, "server-round": server_round}
        return [Message(RecordDict({"arrays": arrays,
                                    "config": ConfigRecord({**settings, "part": part})}),
                        message_type="train", dst_node_id=node)
                for node, part in zip(random.sample(nodes, count), parts)]

    def aggregate_train(self, server_round, replies):
        replies = list(replies)
        for reply in replies:
            if reply.has_error():
                raise RuntimeError(reply.error.reason)
        return super().aggregate_train(server_round, replies)


app = ServerApp()


@app.main()
def main(grid, context):
    settings = context.run_config
    work, records = pathlib.Path(settings["work"]), pathlib.Path(settings["records"])
    model = ondine.load(work / "train.onnx", threads=1)
    model.initialize(1)
    strategy = OfParts(fraction_train=settings["fraction-train"], fraction_evaluate=0.0)
    serve = server_app(model, strategy, rounds=settings["rounds"], data=work / "test",
                       history=records / "history.json",
                       train_config={"epochs": 1, "learning-rate": 0.02})
    serve(grid, context)
