"""Networks of torchvision, timm, transformers and diffusers for real_models.py, small and with
random weights, exported as a user does: for inference, with the exporters' default options."""
import contextlib
import io
import signal
import warnings

import numpy as np

from real_model_list import Entry

SPREAD = 0.02  # of what is added to parameters
PATIENCE = 900  # seconds for one export


def disturbed(module, inputs):
    """Random statistics in BatchNormalization, and parameters of which no two are equal: exporters
    write equal ones once, as the zeros of biases."""
    import torch
    with torch.no_grad():
        for one in filter(lambda parameter: parameter.requires_grad, module.parameters()):
            one.add_(SPREAD * torch.randn(one.shape))
        kinds = torch.nn.BatchNorm1d, torch.nn.BatchNorm2d
        norms = [one for one in module.modules() if isinstance(one, kinds)]
        for one in norms:
            one.momentum = None  # the mean of all batches
        if norms:
            module.train()(*inputs)
    return module.eval()


def elements_with_gradient(module, inputs):
    """Elements of the parameters that a loss on all outputs reaches, without scales of
    BatchNormalization, which the exporters merge into the layer before."""
    import torch
    module(*inputs).square().sum().backward()
    kinds = torch.nn.BatchNorm1d, torch.nn.BatchNorm2d
    merged = {id(one.weight) for one in module.modules() if isinstance(one, kinds)}
    count = sum(one.numel() for one in module.parameters()
                if one.grad is not None and id(one) not in merged)
    module.zero_grad()
    return count


def export(module, inputs, names, dynamo, path):
    import torch

    def stop(*_):
        raise TimeoutError(f"not exported in {PATIENCE} seconds")

    options = {"dynamo": True, "verbose": False, "external_data": False} if dynamo else {
        "dynamo": False, "opset_version": 17}
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            torch.onnx.export(module, tuple(inputs), str(path), input_names=names,
                              output_names=["y"], **options)
    finally:
        signal.alarm(0)


def exporter_of(name, network, names, dynamo):
    """Writes the file, if there is none yet, and beside it what an entry needs."""
    def make(path):
        import torch
        torch.manual_seed(0)
        module = disturbed(network.make(), network.inputs)
        if not path.exists():
            export(module, network.inputs, names, dynamo, path)
        np.savez(path.with_suffix(".npz"), name=name, loss=network.loss,
                 elements=elements_with_gradient(module, network.inputs),
                 **{one: value.numpy() for one, value in zip(names, network.inputs)})
    return make


def library_models():
    """Name and maker of each, those of the slower exporter last."""
    try:
        import torch
        from exported_networks import library_networks
    except ModuleNotFoundError as error:
        print(f"left out: networks of libraries, {error}")
        return
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    networks = library_networks()
    for dynamo in (False, True):
        for name, network in networks.items():
            names = [f"x{i}" for i in range(len(network.inputs))]
            full = f"{name} dynamo" if dynamo else name
            yield full, exporter_of(full, network, names, dynamo)


def entry_beside(path):
    """Name and entry of an exported file."""
    with np.load(path.with_suffix(".npz")) as kept:
        values = {name: kept[name] for name in kept.files
                  if name not in ("name", "loss", "elements")}
        return str(kept["name"]), Entry(losses=(str(kept["loss"]),), values=values, rate=3e-4,
                                        elements=int(kept["elements"]))
