"""Networks of timm for check_exported.py and real_models.py, as small as their arguments allow."""
import timm
import torch

from exported_network import CLASSES, Network

# Model, size of images, arguments.
SMALL = {
    "ViT": ("vit_tiny_patch16_224", 32, {"img_size": 32, "patch_size": 8, "embed_dim": 32,
                                         "depth": 2, "num_heads": 4}),
    "ConvNeXt": ("convnext_atto", 32, {"depths": (1, 1, 1, 1), "dims": (8, 16, 24, 32)}),
    "EfficientNet": ("test_efficientnet", 32, {}),
    "MobileNetV4": ("mobilenetv4_conv_small_035", 64, {}),
    "ResNetV2": ("resnetv2_50", 32, {"layers": (1, 1, 1, 1), "channels": (16, 32, 48, 64),
                                     "stem_chs": 8}),
    "Swin": ("swin_tiny_patch4_window7_224", 32, {
        "img_size": 32, "patch_size": 2, "window_size": 4, "embed_dim": 16, "depths": (2, 2),
        "num_heads": (2, 4)}),
    "SwinV2": ("swinv2_tiny_window8_256", 32, {
        "img_size": 32, "patch_size": 2, "window_size": 4, "embed_dim": 16, "depths": (2, 2),
        "num_heads": (2, 4)}),
    "RegNet": ("regnety_002", 32, {"stem_width": 8}),
    "GhostNet": ("ghostnet_050", 64, {}),
    "LeViT": ("levit_128s", 64, {"img_size": 64, "embed_dim": (32, 48, 64), "depth": (1, 1, 1),
                                 "num_heads": (2, 3, 4), "key_dim": 8}),
    "EdgeNeXt": ("edgenext_xx_small", 64, {"depths": (1, 1, 2, 1), "dims": (8, 16, 24, 32)}),
    "MobileViT": ("mobilevit_xxs", 64, {}),
    "XCiT": ("xcit_nano_12_p16_224", 32, {"img_size": 32, "patch_size": 8, "embed_dim": 32,
                                          "depth": 2}),
    "BEiT": ("beit_base_patch16_224", 32, {"img_size": 32, "patch_size": 8, "embed_dim": 32,
                                           "depth": 2, "num_heads": 4}),
    "EVA-02": ("eva02_tiny_patch14_224", 28, {"img_size": 28, "patch_size": 7, "embed_dim": 32,
                                              "depth": 2, "num_heads": 2}),
    "CaiT": ("cait_xxs24_224", 32, {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2,
                                    "num_heads": 4}),
    "NFNet": ("test_nfnet", 32, {}),
    "DaViT": ("davit_tiny", 56, {"depths": (1, 1), "embed_dims": (32, 64), "num_heads": (2, 4),
                                 "window_size": 7}),
    "PVTv2": ("pvt_v2_b0", 64, {"depths": (1, 1, 1, 1), "embed_dims": (8, 16, 40, 64)}),
    "Hiera": ("hiera_tiny_224", 64, {"img_size": (64, 64), "embed_dim": 16}),
    "MambaOut": ("mambaout_femto", 64, {"depths": (1, 1, 1, 1), "dims": (16, 24, 32, 48)}),
    "StarNet": ("starnet_s1", 64, {"base_dim": 8, "depths": (1, 1, 1, 1)}),
    "LCNet": ("lcnet_035", 64, {}),
    "InceptionNeXt": ("inception_next_atto", 64, {"depths": (1, 1, 1, 1),
                                                  "dims": (16, 24, 32, 48)}),
    "Sequencer": ("sequencer2d_s", 32, {"img_size": 32, "layers": (1, 1), "patch_sizes": (4, 2),
                                        "embed_dims": (16, 24), "hidden_sizes": (8, 8),
                                        "mlp_ratios": (2.0, 2.0)}),
}


def mixer():
    return timm.models.mlp_mixer.MlpMixer(CLASSES, 32, patch_size=8, num_blocks=2, embed_dim=32)


def gated():
    layers = timm.models.mlp_mixer
    return layers.MlpMixer(CLASSES, 32, patch_size=8, num_blocks=2, embed_dim=32, mlp_ratio=6,
                           block_layer=layers.SpatialGatingBlock, mlp_layer=timm.layers.GatedMlp)


def pools():
    return timm.models.metaformer.MetaFormer(
        num_classes=CLASSES, depths=(1, 1, 1, 1), dims=(8, 16, 24, 32), use_mlp_head=False)


def mixed_convolutions():
    return timm.models.convmixer.ConvMixer(32, 2, 5, 4, num_classes=CLASSES)


def networks():
    def network(model, size, arguments):
        def make():
            return timm.create_model(model, pretrained=False, num_classes=CLASSES, **arguments)
        return Network(make, [torch.randn(4, 3, size, size)], "softmax-cross-entropy", "sgd")

    result = {name: network(*entry) for name, entry in SMALL.items()}
    for name, make in (("MLP-Mixer", mixer), ("gMLP", gated), ("PoolFormer", pools),
                       ("ConvMixer", mixed_convolutions)):
        result[name] = Network(make, [torch.randn(4, 3, 32, 32)], "softmax-cross-entropy", "sgd")
    return {f"timm {name}": one for name, one in result.items()}
