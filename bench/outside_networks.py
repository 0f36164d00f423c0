"""Networks that no kernel was written for: titles, kind of optimizer and learning rate."""

ADAM = ("adam", 0.0001)
MOMENTUM = ("momentum", 0.001)

NETWORKS = {
    "gpt": ("GPT 4 x 256, 8 x 128 tokens", ADAM),
    "vit": ("ViT 6 x 192, 8 x 64 patches", ADAM),
    "unet": ("U-Net 16 to 128, 4 x 96 x 96", ADAM),
    "gru": ("GRU 2 x 128 on text, 16 x 100", ADAM),
    "sound": ("separable 1-d convolutions, 16 x 100", ADAM),
    "table": ("MLP 30-256-256-5, batch 32", ADAM),
    "mobilenet_v3_small": ("MobileNetV3 small, 8 x 224 x 224", MOMENTUM),
    "efficientnet_b0": ("EfficientNet-B0, 4 x 224 x 224", MOMENTUM),
    "resnet50": ("ResNet-50, 4 x 112 x 112", MOMENTUM),
    "swin_t": ("Swin-T, 2 x 224 x 224", ADAM),
    "convnext_tiny": ("ConvNeXt-T, 4 x 112 x 112", ADAM),
    "densenet121": ("DenseNet-121, 4 x 112 x 112", MOMENTUM),
    "regnet_y_400mf": ("RegNetY 400MF, 8 x 112 x 112", MOMENTUM),
}
