"""The workloads of bench/models in PyTorch, from the same initializers."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import OPTIMIZERS, in_training_mode, is_trained


class Network(nn.Module):
    """Parameters are called as in the .onnx file, with '_' for '.'."""

    def __init__(self, values, trained=lambda name: True):
        super().__init__()
        for name, value in values.items():
            data = torch.from_numpy(value.copy())
            key = name.replace(".", "_")
            if ".running_" in name or data.dtype != torch.float32 or data.dim() == 0:
                self.register_buffer(key, data)
            else:
                self.register_parameter(key, nn.Parameter(data, requires_grad=trained(name)))

    def get(self, name):
        return getattr(self, name.replace(".", "_"), None)

    def linear(self, x, name):
        return F.linear(x, self.get(name + ".weight"), self.get(name + ".bias"))

    def conv(self, x, name, stride=1):
        weight = self.get(name + ".weight")
        groups = x.shape[1] // weight.shape[1]
        return F.conv2d(x, weight, self.get(name + ".bias"), stride, weight.shape[2] // 2, 1, groups)

    def norm(self, x, name):
        return F.batch_norm(x, self.get(name + ".running_mean"), self.get(name + ".running_var"),
                            self.get(name + ".weight"), self.get(name + ".bias"), self.training, 0.1)

    def conv_norm(self, x, name, stride=1):
        return self.norm(self.conv(x, name + ".conv", stride), name + ".norm")


class Mlp(Network):
    def forward(self, x):
        x = F.relu(self.linear(x, "fc1"))
        return self.linear(F.relu(self.linear(x, "fc2")), "fc3")


class Lenet(Network):
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x, "conv1")), 2)
        x = F.max_pool2d(F.relu(self.conv(x, "conv2")), 3)
        return self.linear(x.flatten(1), "fc")


class MobileNetV2(Network):
    STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1)]

    def block(self, x, name, stride, expansion):
        y = x
        if expansion != 1:
            y = F.relu6(self.conv_norm(y, name + ".expand"), inplace=True)
        y = F.relu6(self.conv_norm(y, name + ".depthwise", stride), inplace=True)
        y = self.conv_norm(y, name + ".project")
        return x + y if x.shape == y.shape else y

    def forward(self, x):
        x = F.relu6(self.conv_norm(x, "stem", 2), inplace=True)
        number = 0
        for expansion, _, repeats, stride in self.STAGES:
            for i in range(repeats):
                x = self.block(x, f"block{number}", stride if i == 0 else 1, expansion)
                number += 1
        x = F.relu6(self.conv_norm(x, "head"), inplace=True)
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1), "classifier")


class ResNet18(Network):
    def forward(self, x):
        x = F.relu(self.conv_norm(x, "stem"), inplace=True)
        for number in range(8):
            name = f"block{number}"
            stride = 2 if self.get(name + ".shortcut.conv.weight") is not None else 1
            y = F.relu(self.conv_norm(x, name + ".first", stride), inplace=True)
            y = self.conv_norm(y, name + ".second")
            if stride == 2:
                x = self.conv_norm(x, name + ".shortcut", 2)
            x = F.relu(y + x, inplace=True)
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1), "fc")


class Transformer(nn.Module):
    """torch.nn's own encoder, with its attention that keeps no scores."""

    def __init__(self, values, _=None):
        super().__init__()
        self.layers = nn.ModuleList()
        for number in range(4):
            layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
            name = f"layer{number}."
            joined = [values[name + f"attention.{part}.weight"].T for part in
                      ("query", "key", "value")]
            biases = [values[name + f"attention.{part}.bias"] for part in ("query", "key", "value")]
            with torch.no_grad():
                copy(layer.self_attn.in_proj_weight, joined)
                copy(layer.self_attn.in_proj_bias, biases)
                copy(layer.self_attn.out_proj.weight, [values[name + "attention.out.weight"].T])
                copy(layer.self_attn.out_proj.bias, [values[name + "attention.out.bias"]])
                for module, part in ((layer.linear1, "up"), (layer.linear2, "down")):
                    copy(module.weight, [values[name + part + ".weight"].T])
                    copy(module.bias, [values[name + part + ".bias"]])
            self.layers.append(layer)
        self.fc = nn.Linear(256, 10)
        with torch.no_grad():
            copy(self.fc.weight, [values["fc.weight"]])
            copy(self.fc.bias, [values["fc.bias"]])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.fc(x.mean(1))


class Gpt2(Network):
    """Pre-norm blocks with causal attention; the words' table is the last layer too."""

    def __init__(self, values, trained):
        used = ("scale", "causal", "by_head", "together", "thirds", "rows")
        super().__init__({name: value for name, value in values.items()
                          if name not in used and not name.startswith("learning_rate")
                          and value.dtype.kind == "f" and value.ndim > 0}, trained)

    def project(self, x, name):
        y = x @ self.get(name + ".weight") + self.get(name + ".bias")
        down = self.get(name + ".lora_a")
        return y if down is None else y + (x @ down) @ self.get(name + ".lora_b")

    def norm(self, x, name):
        weight = self.get(name + ".weight")
        return F.layer_norm(x, weight.shape, weight, self.get(name + ".bias"))

    def attention(self, x, name):
        batch, length, width = x.shape
        parts = self.project(x, name + ".qkv").view(batch, length, 3, 12, width // 12)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.project(y.transpose(1, 2).reshape(batch, length, width), name + ".out")

    def forward(self, x):
        x = self.get("words")[x] + self.get("places")
        for number in range(12):
            name = f"block{number}"
            x = x + self.attention(self.norm(x, name + ".norm1"), name + ".attention")
            y = self.project(self.norm(x, name + ".norm2"), name + ".up")
            x = x + self.project(F.gelu(y, approximate="tanh"), name + ".down")
        scores = self.norm(x, "norm") @ self.get("words").T
        return scores.view(-1, scores.shape[-1])


def copy(target, parts):
    target.copy_(torch.cat([torch.from_numpy(part.copy()) for part in parts]))


class Lstm(nn.Module):
    """torch.nn.LSTM; its gates are in the order i f c o, those of ONNX in the order i o f c."""

    def __init__(self, values, _=None):
        super().__init__()
        self.lstm = nn.LSTM(40, 128, 2)
        order = [0, 2, 3, 1]

        def gates(array):
            parts = torch.from_numpy(array.copy()).chunk(4)
            return [parts[i].numpy() for i in order]

        with torch.no_grad():
            for number in (1, 2):
                tail = f"_l{number - 1}"
                bias = values[f"lstm{number}.bias"][0]
                copy(getattr(self.lstm, "weight_ih" + tail), gates(values[f"lstm{number}.weight"][0]))
                copy(getattr(self.lstm, "weight_hh" + tail),
                     gates(values[f"lstm{number}.recurrent"][0]))
                copy(getattr(self.lstm, "bias_ih" + tail), gates(bias[:512]))
                copy(getattr(self.lstm, "bias_hh" + tail), gates(bias[512:]))
            self.fc = nn.Linear(128, 10)
            copy(self.fc.weight, [values["fc.weight"]])
            copy(self.fc.bias, [values["fc.bias"]])

    def forward(self, x):
        return self.fc(self.lstm(x)[0][-1])


NETWORKS = {"W1": Mlp, "W2": Mlp, "W3": Lenet, "W4": MobileNetV2, "W5": MobileNetV2,
            "W6": ResNet18, "W7": Transformer, "W8": Lstm, "W9": Mlp, "L1": Gpt2, "L2": Gpt2}


def optimizer_of(kind, rate, parameters, fused=None):
    if kind == "adam":
        return torch.optim.Adam(parameters, rate, fused=fused)
    if kind == "adamw":
        return torch.optim.AdamW(parameters, rate, weight_decay=0.0, fused=fused)
    return torch.optim.SGD(parameters, rate, 0.9 if kind == "momentum" else 0.0, fused=fused)


class Step:
    """One training step; the same loss as softmax cross entropy in the .onnx file.

    optimizer: kind and learning rate. bf16: under autocast. tuned: images in channels_last, fused
    optimizers. compiled: network and loss by torch.compile.
    """

    def __init__(self, network, x, label, optimizer, bf16=False, tuned=False, compiled=False):
        self.x, self.label = x, label
        if tuned and x.dim() == 4:
            network = network.to(memory_format=torch.channels_last)
            self.x = x.contiguous(memory_format=torch.channels_last)
        self.optimizer = optimizer_of(*optimizer,
                                      [p for p in network.parameters() if p.requires_grad],
                                      True if tuned else None)

        def loss(x, label):
            return F.cross_entropy(network(x), label)

        self.loss = torch.compile(loss) if compiled else loss
        self.bf16 = bf16

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            loss = self.loss(self.x, self.label)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def workload_step(workload, values, x, label, **settings):
    """The step of a workload of bench/models, from its arrays."""
    network = NETWORKS[workload](values, lambda name: is_trained(workload, name))
    network.train(in_training_mode(workload))
    return Step(network, torch.from_numpy(x), torch.from_numpy(label), OPTIMIZERS[workload],
                **settings)
