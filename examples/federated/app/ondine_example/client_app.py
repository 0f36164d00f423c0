"""A node: the training model and the rows of its partition in the folder that the run names."""
import pathlib

import ondine_train as ondine
from ondine_train.flower import client_app


def place(context, name):
    return pathlib.Path(context.run_config["work"]) / name


app = client_app(lambda context: ondine.load(place(context, "train.onnx"), threads=1),
                 lambda context: place(context, f"part{context.node_config['partition-id']}"),
                 batch_size=32)
