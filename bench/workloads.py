"""What every program that runs the workloads of bench/models has to know about them."""

# Titles, and the operations of one step in 10^9 (a multiply-add counts as two).
WORKLOADS = {
    "W1": ("mlp 784-256-128-10, batch 64, SGD", 0.0645),
    "W2": ("mlp as W1, Adam", 0.0645),
    "W3": ("lenet 28x28, batch 32, Adam", 0.141),
    "W4": ("MobileNetV2 224x224, batch 8, SGD", 14.4),
    "W5": ("MobileNetV2 224x224, batch 8, classifier only", 4.83),
    "W6": ("ResNet-18 32x32, batch 8, SGD momentum", 26.7),
    "W7": ("transformer 4x256, 128 tokens, batch 8, Adam", 21.0),
    "W8": ("LSTM 40-2x128, 100 steps, batch 16, Adam", 2.08),
    "W9": ("mlp as W1, batch 1, SGD", 0.00101),
    "L1": ("GPT-2 124 M, adapters of rank 8, 256 tokens, AdamW", 132.0),
    "L2": ("GPT-2 124 M, all weights, 256 tokens, AdamW", 195.0),
}
# Those with models of moderate size.
DEFAULT = [name for name in WORKLOADS if name.startswith("W")]

# Kind and learning rate; momentum is 0.9, betas 0.9 and 0.999, epsilon 1e-8, weights do not decay.
OPTIMIZERS = {
    "W1": ("sgd", 0.01), "W2": ("adam", 0.001), "W3": ("adam", 0.001), "W4": ("sgd", 0.001),
    "W5": ("sgd", 0.01), "W6": ("momentum", 0.001), "W7": ("adam", 0.0001), "W8": ("adam", 0.001),
    "W9": ("sgd", 0.001), "L1": ("adamw", 0.0001), "L2": ("adamw", 0.0001),
}


def is_trained(workload, name):
    """Whether the workload trains the initializer of that name, if it is a parameter."""
    if workload == "W5":
        return name.startswith("classifier")
    return workload != "L1" or ".lora_" in name


def in_training_mode(workload):
    return workload != "W5"
