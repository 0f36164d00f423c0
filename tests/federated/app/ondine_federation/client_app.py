"""A node in Python that adds a hundredth to every weight."""
import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()
EXAMPLES = 30


@app.train()
def train(message: Message, context: Context) -> Message:
    arrays = ArrayRecord({name: Array((array.numpy() + np.float32(0.01)).astype(np.float32))
                          for name, array in message.content["arrays"].items()})
    metrics = MetricRecord({"train_loss": 1.0, "num-examples": EXAMPLES})
    return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    metrics = MetricRecord({"eval_loss": 1.0, "num-examples": EXAMPLES})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
