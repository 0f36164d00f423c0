"""Torchvision's networks of classification for check_exported.py, whole and by their names there.

GoogLeNet and Inception v3 are made without their auxiliary heads, as PyTorch exports them for
inference: their loss is that of the main head alone.
"""
import fnmatch

import torch
import torchvision

from exported_network import CLASSES, Network

# Of the first pattern that matches: width of the images, arguments of the builder. Images are as
# small as network and exporters accept (TorchScript's none that an adaptive pooling enlarges), or
# leave BatchNormalization 2 x 2 positions where it runs last.
SETTINGS = {
    "alexnet": (224, {}),
    "convnext_*": (32, {}),
    "googlenet": (64, {"aux_logits": False, "init_weights": True}),
    "inception_v3": (128, {"aux_logits": False, "init_weights": True}),
    "maxvit_t": (224, {"input_size": (224, 224)}),
    "squeezenet*": (32, {}),
    "swin_v2_*": (32, {}),
    "swin_*": (32, {}),
    "vgg*": (224, {}),
    "vit_h_14": (28, {"image_size": 28}),
    "vit_*_16": (32, {"image_size": 32}),
    "vit_*_32": (64, {"image_size": 64}),
    "*": (64, {}),
}
ROWS = 4
ROWS_OF_LARGE_IMAGES = 2
RATE = 0.001
# SqueezeNet ends in a Relu, whose outputs a larger step makes zero. Inception v3 at 0.001 amplifies
# relative differences of 1e-15 between weights to 5e-2 of the loss in four steps.
SMALL_RATES = {"squeezenet*": 1e-5, "inception_v3": 1e-5}
MOST_PARAMETERS = 2**31 // 8  # in float64, a file of protobuf has no room for more,
MOST_WITH_MOMENTUM = MOST_PARAMETERS // 2  # or for these and their momentum


def parameters_of(name):
    return torchvision.models.get_model_weights(name).DEFAULT.meta["num_params"]


def network(name):
    width, arguments = next(entry for pattern, entry in SETTINGS.items()
                            if fnmatch.fnmatch(name, pattern))
    rows = ROWS if width < 200 else ROWS_OF_LARGE_IMAGES

    def make():
        return torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **arguments)

    rate = next((one for pattern, one in SMALL_RATES.items() if fnmatch.fnmatch(name, pattern)),
                RATE)
    optimizer = ("momentum", rate) if parameters_of(name) < MOST_WITH_MOMENTUM else ("sgd", 0.01)
    return Network(make, [torch.randn(rows, 3, width, width)], "softmax-cross-entropy", *optimizer)


def networks():
    """Those with few parameters first."""
    names = torchvision.models.list_models(module=torchvision.models)
    small = [name for name in names if parameters_of(name) < MOST_PARAMETERS]
    return {f"torchvision {name}": network(name) for name in sorted(small, key=parameters_of)}
