"""Networks of torchvision, timm, transformers and diffusers for real_models.py, small and with
random weights, exported as a user does: for inference, with the exporters' default options."""
import contextlib
import fnmatch
import io
import warnings

from real_model_list import Entry

SPREAD = 0.02  # of what is added to parameters


def disturbed(module, inputs):
    """Random statistics in BatchNormalization, and parameters of which no two are equal: exporters
    write equal ones once, as the zeros of biases."""
    import torch
    with torch.no_grad():
        for one in module.parameters():
            one.add_(SPREAD * torch.randn(one.shape))
        kinds = torch.nn.BatchNorm1d, torch.nn.BatchNorm2d
        norms = [one for one in module.modules() if isinstance(one, kinds)]
        for one in norms:
            one.momentum = None  # the mean of all batches
        if norms:
            module.train()(*inputs)
    return module.eval()


def exporter_of(network, names, dynamo):
    def make(path):
        import torch
        torch.manual_seed(0)
        module = disturbed(network.make(), network.inputs)
        options = {"dynamo": True, "verbose": False, "external_data": False} if dynamo else {
            "dynamo": False, "opset_version": 17}
        with contextlib.redirect_stdout(io.StringIO()):
            torch.onnx.export(module, tuple(network.inputs), str(path), input_names=names,
                              output_names=["y"], **options)
    return make


def library_models(pattern):
    """Name, maker and entry of each whose name may match the pattern."""
    try:
        import torch
        from exported_networks import library_networks
    except ModuleNotFoundError as error:
        print(f"left out: networks of libraries, {error}")
        return
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    for name, network in library_networks().items():
        names = [f"x{i}" for i in range(len(network.inputs))]
        values = {one: value.numpy() for one, value in zip(names, network.inputs)}
        entry = Entry(losses=(network.loss,), values=values, rate=3e-4)
        for dynamo in (False, True):
            full = f"{name} dynamo" if dynamo else name
            if fnmatch.fnmatch(full, pattern):
                yield full, exporter_of(network, names, dynamo), entry
