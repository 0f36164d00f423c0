"""Torchvision's networks of detection and segmentation, small, for check_exported.py and
real_models.py: what is differentiable in them, before boxes are chosen."""
import torch
import torchvision
from torch import nn
from torchvision.models import detection, mobilenetv3, resnet, segmentation
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.detection.retinanet import RetinaNetHead
from torchvision.ops import feature_pyramid_network

from exported_network import CLASSES, Network, Output

LEVELS = {f"layer{i}": str(i) for i in (1, 2, 3, 4)}


def small_resnet(norm=nn.BatchNorm2d):
    return resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1], CLASSES, norm_layer=norm)


def pyramid(extra=None, norm=torchvision.ops.FrozenBatchNorm2d):
    return BackboneWithFPN(small_resnet(norm), LEVELS, [64, 128, 256, 512], 16, extra)


def joined(levels):
    """All levels or heads as one tensor of [N, positions, channels]."""
    return torch.cat([one.flatten(2).transpose(1, 2) for one in levels], 1)


class RetinaNet(nn.Module):
    """Scores and boxes of all anchors of a feature pyramid."""

    def __init__(self):
        super().__init__()
        self.backbone = pyramid(feature_pyramid_network.LastLevelP6P7(512, 16))
        self.head = RetinaNetHead(16, 2, CLASSES)

    def forward(self, x):
        result = self.head(list(self.backbone(x).values()))
        return torch.cat([result["cls_logits"], result["bbox_regression"]], -1)


class RegionProposals(nn.Module):
    """Objectness and boxes of Faster R-CNN's first stage."""

    def __init__(self):
        super().__init__()
        self.backbone = pyramid(feature_pyramid_network.LastLevelMaxPool())
        self.head = detection.rpn.RPNHead(16, 3)

    def forward(self, x):
        scores, boxes = self.head(list(self.backbone(x).values()))
        return torch.cat([joined(scores), joined(boxes)], -1)


class Regions(nn.Module):
    """Faster R-CNN's second stage: RoIAlign of given boxes, two layers, classes."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1))
        self.head = detection.faster_rcnn.TwoMLPHead(8 * 9, 16)
        self.predictor = detection.faster_rcnn.FastRCNNPredictor(16, CLASSES)

    def forward(self, x, boxes):
        features = torchvision.ops.roi_align(self.features(x), boxes, 3, 0.25, 2, True)
        scores, offsets = self.predictor(self.head(features))
        return torch.cat([scores, offsets], -1)


class Ssdlite(nn.Module):
    def __init__(self):
        super().__init__()
        backbone = mobilenetv3.MobileNetV3(
            [mobilenetv3.InvertedResidualConfig(16, 3, 16, 16, True, "RE", 2, 1, 1),
             mobilenetv3.InvertedResidualConfig(16, 5, 32, 24, True, "HS", 2, 1, 1)], 32)
        self.first, self.rest = backbone.features[:2], backbone.features[2:]
        norm = nn.BatchNorm2d
        self.head = detection.ssdlite.SSDLiteHead([16, 144], [2, 3], CLASSES, norm)

    def forward(self, x):
        first = self.first(x)
        result = self.head([first, self.rest(first)])
        return torch.cat([result["cls_logits"], result["bbox_regression"]], -1)


def deeplab():
    backbone = IntermediateLayerGetter(small_resnet(), {"layer3": "out"})
    head = segmentation.deeplabv3.DeepLabHead(256, CLASSES, atrous_rates=(1, 2, 3))
    return Output(segmentation.DeepLabV3(backbone, head), lambda result: result["out"])


def lraspp():
    features = mobilenetv3.mobilenet_v3_small().features
    backbone = IntermediateLayerGetter(features, {"3": "low", "8": "high"})
    return Output(segmentation.LRASPP(backbone, 24, 48, CLASSES, 16),
                  lambda result: result["out"])


def networks():
    image = torch.randn(2, 3, 64, 64)
    boxes = torch.tensor([[0, 4.0, 4.0, 40.0, 30.0], [1, 10.0, 2.0, 60.0, 50.0],
                          [1, 0.5, 0.5, 20.0, 20.0]])
    images_of_boxes = torch.cat([image, image[:1].flip(3)])  # as many rows, as data needs
    entropy, squares = "softmax-cross-entropy", "mse"
    return {f"torchvision {name}": one for name, one in {
        "DeepLabV3": Network(deeplab, [image], entropy, "sgd"),
        "LR-ASPP": Network(lraspp, [image], entropy, "sgd"),
        "FPN of Faster R-CNN": Network(lambda: Output(pyramid(), lambda result: result["1"]),
                                       [image], squares, "sgd"),
        "region proposals": Network(RegionProposals, [image], squares, "sgd"),
        "regions of Faster R-CNN": Network(Regions, [images_of_boxes, boxes], squares, "sgd"),
        "RetinaNet": Network(RetinaNet, [image], squares, "sgd"),
        "SSDLite": Network(Ssdlite, [image], squares, "sgd"),
    }.items()}
