"""The models of real_models.py, and what is to be known of each."""
import dataclasses

import numpy as np


@dataclasses.dataclass
class Entry:
    file: str = "*"
    losses: tuple = ("mse",)  # the first that prepare accepts
    output: str = ""  # that the loss reads; empty: the first
    class_axis: int = 1
    dims: dict = dataclasses.field(default_factory=dict)  # of inputs
    values: dict = dataclasses.field(default_factory=dict)  # of inputs, instead of random ones
    scale: float = 1.0  # of random inputs
    largest_integer: int = 2
    rate: float = 1e-4  # of Adam
    train: tuple = ()  # --train
    elements: int = 0  # that PyTorch trains, without the scales of BatchNormalization
    note: str = ""  # explains an exception


def speech(samples, batch=2, state=(2, 2, 128), rate=16000):
    """Inputs of the Silero detectors: a chunk of sound, the state and the sampling rate."""
    return {"dims": {"input": [batch, samples], "state": list(state), "h": [2, batch, 64],
                     "c": [2, batch, 64]},
            "values": {"sr": np.int64(rate)}, "scale": 0.1, "rate": 1e-3,
            "losses": ("bce", "bce-probabilities")}


CLASSES = ("softmax-cross-entropy", "nll")

PACKAGES = [
    ("pypi", "magika", [Entry(losses=CLASSES, largest_integer=256)]),
    ("pypi", "silero-vad", [
        Entry("silero_vad_16k_sequence.onnx", losses=("bce", "bce-probabilities"),
              dims={"input": [3, 576]}, scale=0.1, rate=1e-3),
        Entry("silero_vad_openvino_16k.onnx", **speech(576, 1, (2, 1, 128))),
        Entry("*", **speech(576))]),
    ("pypi", "rapidocr-onnxruntime", [
        Entry("*_cls_*", losses=CLASSES, dims={"x": [2, 3, 48, 192]}),
        Entry("*_det_*", losses=("bce", "bce-probabilities"), dims={"x": [1, 3, 64, 96]}),
        Entry("*_rec_*", losses=CLASSES, class_axis=2, dims={"x": [1, 3, 48, 96]})]),
    ("pypi", "basic-pitch", [
        Entry(losses=("bce", "bce-probabilities"), dims={"serving_default_input_2:0": [1, 43844, 1]},
              scale=0.1)]),
    ("pypi", "nudenet", [Entry(losses=("mse",), dims={"images": [1, 3, 64, 96]})]),
    ("npm", "@ricky0123/vad-web", [
        Entry("silero_vad_legacy.onnx", **speech(1536)),
        Entry("*", **speech(576))]),
]


def torchvision_model(name, group=None, dynamo=False, size=64, **settings):
    def make(path):
        import torch
        import torchvision
        torch.manual_seed(1)
        models = getattr(torchvision.models, group) if group else torchvision.models
        network = with_statistics(getattr(models, name)(weights=None, **settings), size)
        if group:
            network = Plain(network)
        x = torch.randn(2, 3, size, size)
        names = {"input_names": ["x"], "output_names": ["y"]}
        if dynamo:
            torch.onnx.export(network, (x,), str(path), dynamo=True, verbose=False,
                              external_data=False, **names)
        else:
            torch.onnx.export(network, (x,), str(path), dynamo=False, opset_version=17,
                              dynamic_axes={"x": {0: "N"}, "y": {0: "N"}}, **names)

    def Plain(network):
        class Output(torch_module()):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, x):
                return self.network(x)["out"]
        return Output()

    return make


def with_statistics(network, size):
    """In evaluation mode, with the statistics of random images in BatchNormalization: those of a new
    network, 0 and 1, make signals of random weights vanish, and with them all gradients."""
    import torch
    for one in network.modules():
        if isinstance(one, torch.nn.BatchNorm2d):
            one.momentum = None  # the mean of all batches
    with torch.no_grad():
        network.train()(torch.randn(8, 3, size, size))
    return network.eval()


def torch_module():
    import torch
    return torch.nn.Module


def scikit_model(kind, **options):
    def make(path):
        from skl2onnx import to_onnx
        from sklearn import datasets, ensemble, linear_model, neural_network
        x, y = datasets.load_iris(return_X_y=True)
        x = x.astype(np.float32)
        model = {"logistic": linear_model.LogisticRegression(max_iter=500),
                 "forest": ensemble.RandomForestClassifier(10, max_depth=4, random_state=1),
                 "mlp": neural_network.MLPClassifier(hidden_layer_sizes=(16,), max_iter=300,
                                                     random_state=1),
                 "linear": linear_model.LinearRegression(),
                 "mlp regressor": neural_network.MLPRegressor(hidden_layer_sizes=(16,), max_iter=300,
                                                               random_state=1),
                 }[kind].fit(x, y)
        settings = {id(model): {"zipmap": False}} if options.get("plain") else None
        with open(path, "wb") as file:
            file.write(to_onnx(model, x[:2], options=settings,
                               target_opset=options.get("opset")).SerializeToString())
    return make


SMALL = Entry(losses=("softmax-cross-entropy",), dims={"x": [2, 3, 64, 64]}, rate=1e-4)
FLOWERS = {"losses": CLASSES, "dims": {"X": [6, 4]}, "rate": 1e-2}

EXPORTED = [
    (f"torchvision {name}{' dynamo' if dynamo else ''}",
     torchvision_model(name, dynamo=dynamo, **settings), SMALL)
    for dynamo in (False, True)
    for name, settings in (("resnet18", {}), ("mobilenet_v3_small", {}), ("squeezenet1_1", {}),
                           ("shufflenet_v2_x0_5", {}), ("mnasnet0_5", {}),
                           ("regnet_y_400mf", {}))
] + [
    ("torchvision lraspp_mobilenet_v3_large",
     torchvision_model("lraspp_mobilenet_v3_large", "segmentation", weights_backbone=None), SMALL),
    ("skl2onnx LogisticRegression", scikit_model("logistic"), Entry(**FLOWERS)),
    ("skl2onnx LogisticRegression without ZipMap", scikit_model("logistic", plain=True),
     Entry(**FLOWERS)),
    ("skl2onnx MLPClassifier", scikit_model("mlp"), Entry(**FLOWERS)),
    ("skl2onnx MLPClassifier without ZipMap, opset 11", scikit_model("mlp", plain=True, opset=11),
     Entry(**FLOWERS)),
    ("skl2onnx LinearRegression", scikit_model("linear"),
     Entry(losses=("mse",), dims={"X": [6, 4]}, rate=1e-2)),
    ("skl2onnx MLPRegressor", scikit_model("mlp regressor"),
     Entry(losses=("mse",), dims={"X": [6, 4]}, rate=1e-2)),
    ("skl2onnx RandomForestClassifier", scikit_model("forest"),
     Entry(**FLOWERS, note="Trees are not differentiable: prepare refuses them by name")),
]
