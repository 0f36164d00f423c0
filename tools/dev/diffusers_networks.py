"""Networks of diffusers for check_exported.py and real_models.py, of small configurations."""
import diffusers
import torch

from exported_network import Network, Output

NOISY, TIME = torch.Size([2, 4, 16, 16]), 7
CHANNELS = {"block_out_channels": (16, 32), "norm_num_groups": 8, "layers_per_block": 1}
SCHEMES = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
           "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}


def of(kind, names, inputs, pick=lambda result: result.sample, **settings):
    return Network(lambda: Output(getattr(diffusers, kind)(**settings), pick, names), inputs, "mse",
                   "sgd")


def networks():
    noisy = {"in_channels": 4, "out_channels": 4, "sample_size": 16}
    latents, time = torch.randn(NOISY), torch.tensor([TIME, 2 * TIME])
    crossed = {"down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
               "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"), "cross_attention_dim": 12,
               "attention_head_dim": 8}
    scheme = {"down_block_types": ("DownEncoderBlock2D",) * 2,
              "up_block_types": ("UpDecoderBlock2D",) * 2, "latent_channels": 4}
    transformer = {"num_attention_heads": 2, "attention_head_dim": 8, "num_layers": 2,
                   "patch_size": 4, "norm_num_groups": 4}
    names = ["sample", "timestep"]
    text = torch.randn(2, 5, 12)
    return {f"diffusers {name}": one for name, one in {
        "UNet2D": of("UNet2DModel", names, [latents, time], **noisy, **CHANNELS, **SCHEMES,
                     attention_head_dim=8),
        "UNet2DCondition": of("UNet2DConditionModel", [*names, "encoder_hidden_states"],
                              [latents, time, text], **noisy, **CHANNELS, **crossed),
        "AutoencoderKL": of("AutoencoderKL", ["sample"], [torch.randn(2, 3, 16, 16)],
                            **CHANNELS, **scheme),
        "VQModel": of("VQModel", ["sample"], [torch.randn(2, 3, 16, 16)], **CHANNELS, **scheme,
                      num_vq_embeddings=16),
        "DiT": of("DiTTransformer2DModel", ["hidden_states", "timestep", "class_labels"],
                  [latents, time, torch.tensor([1, 2])], **transformer, in_channels=4,
                  sample_size=16, num_embeds_ada_norm=10),
        "UNet1D": of("UNet1DModel", names, [torch.randn(2, 2, 64), time], sample_size=64,
                     block_out_channels=(32, 32, 64), extra_in_channels=64),
    }.items()}
