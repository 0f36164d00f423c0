"""Steps in onnxruntime-training, of the inference graph that the training model holds."""

import logging
import pathlib
import tempfile

import numpy
import onnx
import onnxruntime
from onnxruntime.training import api, artifacts, onnxblock

from workloads import OPTIMIZERS, in_training_mode, is_trained



def inference_model(path):
    """The model without Ondine's training step."""
    model = onnx.load(path)
    model.ClearField("training_info")
    model.ClearField("metadata_props")
    model.ClearField("functions")
    kept = [one for one in model.opset_import if one.domain == ""]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    return model


def set_training_mode(model):
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            node.attribute.append(onnx.helper.make_attribute("training_mode", 1))
            node.output.extend([node.output[0] + ".mean", node.output[0] + ".variance"])


def make_step(workload, values, x, label, options):
    if options.precision != "float32":
        raise ValueError("it trains in float32 only")
    logging.disable(logging.WARNING)
    model = inference_model(options.folder / f"{workload}.onnx")
    if in_training_mode(workload):
        set_training_mode(model)
    kind, rate = OPTIMIZERS[workload]
    optimizer = onnxblock.optim.AdamW(eps=1e-8) if kind.startswith("adam") \
        else artifacts.OptimType.SGD
    parameters = [name for name, value in values.items()
                  if value.dtype == numpy.float32 and value.ndim > 0 and ".running_" not in name
                  and name != "causal"]
    trained = [name for name in parameters if is_trained(workload, name)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        artifacts.generate_artifacts(
            model, requires_grad=trained,
            frozen_params=[name for name in parameters if name not in trained],
            loss=artifacts.LossType.CrossEntropyLoss, optimizer=optimizer,
            artifact_directory=temporary)
        session = onnxruntime.SessionOptions()
        session.intra_op_num_threads = options.threads
        session.inter_op_num_threads = 1
        state = api.CheckpointState.load_checkpoint(folder / "checkpoint")
        module = api.Module(folder / "training_model.onnx", state, session_options=session)
        update = api.Optimizer(folder / "optimizer_model.onnx", module)
    update.set_learning_rate(rate)
    module.train()

    def step():
        loss = module(x, label)
        update.step()
        module.lazy_reset_grad()
        return float(loss)

    return step
