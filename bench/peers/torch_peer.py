"""Steps in PyTorch: eager as it comes, tuned (channels_last, fused optimizers), or compiled too."""

import torch

import torch_models


def make_step(workload, values, x, label, options):
    torch.set_num_threads(options.threads)
    return torch_models.workload_step(workload, values, x, label,
                                      bf16=options.precision == "bf16",
                                      tuned=options.variant != "plain",
                                      compiled=options.variant == "compiled")
