"""The server: FedAvg from the model's weights, evaluated after each round on rows of its own."""
import pathlib

import ondine_train as ondine
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from ondine_train.flower import server_app


class EveryNode(FedAvg):
    """FedAvg that ends the run where a node fails or does not answer in time, which FedAvg would go
    on without."""

    def configure_train(self, server_round, arrays, config, grid):
        messages = list(super().configure_train(server_round, arrays, config, grid))
        self.asked = len(messages)
        return messages

    def aggregate_train(self, server_round, replies):
        replies = list(replies)
        if len(replies) < self.asked:
            raise RuntimeError(f"round {server_round} has {len(replies)} replies of {self.asked}")
        for reply in replies:
            if reply.has_error():
                raise RuntimeError(f"node {reply.metadata.src_node_id}: {reply.error.reason}")
        return super().aggregate_train(server_round, replies)


app = ServerApp()


@app.main()
def main(grid, context):
    settings = context.run_config
    work = pathlib.Path(settings["work"])
    model = ondine.load(work / "train.onnx")
    model.initialize(1)  # the network was made of zeros
    strategy = EveryNode(fraction_train=settings["fraction-train"], fraction_evaluate=0.0,
                         min_train_nodes=2, min_available_nodes=settings["nodes"])
    serve = server_app(model, strategy, rounds=settings["rounds"], data=work / "test",
                       output=work / "final.onnx", history=work / "history.json", timeout=240,
                       train_config={"epochs": settings["epochs"],
                                     "learning-rate": settings["learning-rate"]})
    serve(grid, context)
