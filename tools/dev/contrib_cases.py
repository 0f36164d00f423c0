"""The cases of check_contrib.py: one node of each com.microsoft operator and variant."""
from dataclasses import dataclass, field

import numpy as np
from onnx import helper

DOMAIN = "com.microsoft"
RNG = np.random.default_rng(7)


@dataclass
class Case:
    op: str
    inputs: list  # arrays, None where omitted
    attrs: dict = field(default_factory=dict)
    outputs: int = 1
    constants: tuple = ()  # positions of inputs that are initializers
    domain: str = DOMAIN
    tolerance: float = 1e-4
    steps: int = 0  # by which integers may differ
    reference: list = None  # nodes that onnxruntime runs instead
    keep: object = None  # the part of the results that is defined
    present: tuple = None  # positions of the outputs that the node has
    symbolic: bool = True  # whether the operator works on symbolic dims
    opset: int = 20  # of ai.onnx


def floats(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def integers(low, high, *shape, dtype=np.int64):
    return RNG.integers(low, high, shape).astype(dtype)


def f32(value):
    return np.array(value, np.float32)


def u8(value):
    return np.array(value, np.uint8)


def i32(*values):
    return np.array(values, np.int32)


def gelus():
    x = floats(2, 3, 8, low=-4, high=4)
    yield Case("Gelu", [x])
    yield Case("FastGelu", [x])
    yield Case("FastGelu", [x, floats(8)])
    yield Case("QuickGelu", [x])
    yield Case("QuickGelu", [x], {"alpha": 1.1})
    yield Case("BiasGelu", [x, floats(8)])


def norms():
    x, skip, gamma, beta, bias = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)
    only_sum = (0, 3)
    yield Case("SkipLayerNormalization", [x, skip, gamma])
    yield Case("SkipLayerNormalization", [x, skip, gamma, beta], {"epsilon": 1e-5})
    yield Case("SkipLayerNormalization", [x, skip, gamma, beta, bias], {"epsilon": 1e-3}, 4, present=only_sum)
    yield Case("SkipLayerNormalization", [x, skip[:1], gamma, None, bias])
    yield Case("SkipLayerNormalization", [x, skip[0], gamma, beta])
    yield Case("SkipSimplifiedLayerNormalization", [x, skip, gamma], {"epsilon": 1e-6})
    yield Case("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], {"epsilon": 1e-5}, 4, present=only_sum)
    yield Case("SimplifiedLayerNormalization", [x, gamma], {"axis": -1, "epsilon": 1e-6, "stash_type": 1}, domain="")
    yield Case("SimplifiedLayerNormalization", [x, floats(3, 8)], {"axis": 1, "epsilon": 1e-5}, 2, domain="")
    ids = integers(0, 10, 2, 3, dtype=np.int32)
    segments = integers(0, 2, 2, 3, dtype=np.int32)
    words, positions, table = floats(10, 8), floats(5, 8), floats(2, 8)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    places = integers(0, 5, 2, 3, dtype=np.int32)
    name = "EmbedLayerNormalization"
    yield Case(name, [ids, segments, words, positions, table, gamma, beta, mask], {"epsilon": 1e-5}, 2, (2, 3, 4, 5, 6))
    yield Case(name, [ids, None, words, positions, None, gamma, beta], {}, 2, (2, 3, 5, 6))
    yield Case(name, [ids, segments, words, positions, table, gamma, beta, None, places], {}, 3, (2, 3, 4, 5, 6))
    tables = [integers(0, 256, *shape, dtype=np.uint8) for shape in ((10, 8), (5, 8), (2, 8), (8,), (8,))]
    scales, points = [f32(0.02 + 0.01 * i) for i in range(5)], [u8(100 + i) for i in range(5)]
    yield Case("Q" + name, [ids, segments, *tables, mask, *scales, *points], {"epsilon": 1e-5}, 2, (2, 3, 4, 5, 6))


def products():
    a, b = floats(2, 3, 4, 5), floats(2, 3, 5, 6)
    t = lambda x: np.ascontiguousarray(np.swapaxes(x, -1, -2))
    yield Case("FusedMatMul", [a, b])
    yield Case("FusedMatMul", [a, b], {"alpha": 0.5})
    yield Case("FusedMatMul", [t(a), b], {"transA": 1})
    yield Case("FusedMatMul", [a, t(b)], {"transB": 1, "alpha": -2.0})
    yield Case("FusedMatMul", [t(a), t(b)], {"transA": 1, "transB": 1})
    yield Case("FusedMatMul", [a, floats(6, 5)], {"transB": 1})
    moved = np.ascontiguousarray(np.transpose(a, (2, 0, 1, 3)))
    yield Case("FusedMatMul", [moved, b], {"transBatchA": 1})
    moved = np.ascontiguousarray(np.transpose(a, (3, 0, 1, 2)))
    yield Case("FusedMatMul", [moved, b], {"transBatchA": 1, "transA": 1})
    moved = np.ascontiguousarray(np.transpose(b, (3, 0, 1, 2)))
    yield Case("FusedMatMul", [a, moved], {"transBatchB": 1, "transB": 1})
    x, w, c = floats(4, 5), floats(5, 6), floats(6)
    activations = [("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", {"activation_alpha": 0.2})]
    activations += [("Elu", {"activation_alpha": 0.7}), ("Softplus", {}), ("Softsign", {})]
    activations += [("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})]
    for name, more in activations:
        yield Case("FusedGemm", [x, w, c], {"activation": name, **more})
    yield Case("FusedGemm", [t(x), t(w)], {"activation": "Relu", "transA": 1, "transB": 1, "alpha": 0.5})
    yield Case("Inverse", [floats(2, 3, 4, 4)])


def convolutions():
    x, w, b = floats(2, 4, 7, 6), floats(6, 2, 3, 3), floats(6)
    plain = {"group": 2, "pads": [1, 1, 1, 1], "strides": [1, 1]}
    y = (2, 6, 7, 6)
    kinds = [("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.3])]
    kinds += [("Clip", [0.0, 0.5]), ("HardSigmoid", [0.2, 0.5])]
    for name, params in kinds:
        more = {"activation_params": params} if params else {}
        yield Case("FusedConv", [x, w, b], {**plain, "activation": name, **more}, constants=(1, 2))
    yield Case("FusedConv", [x, w, b, floats(*y)], {**plain, "activation": "Relu"})
    yield Case("FusedConv", [x, w, None, floats(*y)], {**plain, "activation": "Relu"})
    last = np.ascontiguousarray(np.transpose(x, (0, 2, 3, 1)))
    nodes = [
        helper.make_node("Transpose", ["i0"], ["t0"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t0", "i1", "i2"], ["t1"], **plain),
        helper.make_node("Transpose", ["t1"], ["o0"], perm=[0, 2, 3, 1]),
    ]
    yield Case("NhwcConv", [last, w, b], plain, reference=nodes)


def attentions():
    h, d = 2, 4
    x, w, b = floats(2, 5, 6), floats(6, 3 * h * d), floats(3 * h * d)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    past = floats(2, 2, h, 3, d)
    heads = {"num_heads": h}
    yield Case("Attention", [x, w, b], heads)
    yield Case("Attention", [x, w, b, mask], heads)
    yield Case("Attention", [x, w, b, mask], {**heads, "mask_filter_value": -3.0})
    yield Case("Attention", [x, w, b, i32(3, 5)], heads)
    yield Case("Attention", [x, w, b, i32(4, 5, 1, 0)], heads, symbolic=False)
    yield Case("Attention", [x, w, b, integers(0, 2, 2, 5, 5, dtype=np.int32)], heads)
    yield Case("Attention", [x, w, b], {**heads, "unidirectional": 1, "scale": 0.3})
    yield Case("Attention", [x, w, b, mask], {**heads, "unidirectional": 1})
    yield Case("Attention", [x, w, b, None, None, floats(2, h, 5, 5)], heads)
    yield Case("Attention", [x, w, b, None, past], {**heads, "unidirectional": 1}, 2)
    yield Case("Attention", [x, w, b, integers(0, 2, 2, 8, dtype=np.int32), past], heads, 2)
    sizes = {"qkv_hidden_sizes": [8, 8, 4]}
    yield Case("Attention", [x, floats(6, 20), floats(20)], {**heads, **sizes})

    name = "MultiHeadAttention"
    q, k, v = floats(2, 5, h * d), floats(2, 7, h * d), floats(2, 7, h * 3)
    bias = floats(2 * h * d + h * 3)
    yield Case(name, [q, k, v], heads)
    yield Case(name, [q, k, v, bias], {**heads, "scale": 0.2})
    yield Case(name, [q, k, v, None, i32(4, 7)], heads)
    yield Case(name, [q, k, v, None, integers(0, 2, 2, 7, dtype=np.int32)], heads)
    yield Case(name, [q, k, v, None, integers(0, 2, 2, 5, 7, dtype=np.int32)], {**heads, "mask_filter_value": -5.0})
    yield Case(name, [q, k, v, bias, None, floats(1, h, 5, 7)], heads)
    yield Case(name, [q, k, v, None, None, floats(2, 1, 5, 7)], heads)
    yield Case(name, [q, floats(2, h, 7, d), floats(2, h, 7, d)], heads)
    same = floats(2, 5, h * d)
    yield Case(name, [q, same, same], {**heads, "unidirectional": 1})
    yield Case(name, [q, same, same, floats(3 * h * d)], heads, 3)
    past_k, past_v = floats(2, h, 3, d), floats(2, h, 3, d)
    yield Case(name, [q, same, same, None, None, None, past_k, past_v], heads, 3)
    yield Case(name, [q, same, same, None, None, None, past_k, past_v], {**heads, "unidirectional": 1}, 3)

    wide = floats(2, 5, 6)
    weight = integers(-40, 40, 6, 3 * h * d, dtype=np.int8)
    data = integers(0, 255, 2, 5, 6, dtype=np.uint8)
    scales = [f32(0.02), f32(0.03)]
    yield Case("QAttention", [data, weight, b, *scales, None, u8(120), np.int8(3)], heads)
    columns = floats(3 * h * d, low=0.01, high=0.05)
    zeros = np.zeros(3 * h * d, np.int8)
    rows = [data, weight, b, scales[0], columns, i32(3, 5), u8(128), zeros]
    yield Case("QAttention", rows, {**heads, "unidirectional": 1})
    yield Case("QAttention", [data, weight, b, *scales, None, u8(120), np.int8(0), past], heads, 2)
    del wide


def grouped():
    name, h, kv, d = "GroupQueryAttention", 4, 2, 16
    heads = {"num_heads": h, "kv_num_heads": kv}
    cos, sin = floats(16, d // 2), floats(16, d // 2)
    q, k, v = floats(2, 5, h * d), floats(2, 5, kv * d), floats(2, 5, kv * d)
    total = np.array(5, np.int32)
    full = i32(4, 4)
    yield Case(name, [q, k, v, None, None, full, total], heads, 3)
    yield Case(name, [q, k, v, None, None, full, total], {**heads, "scale": 0.1, "softcap": 2.0}, 3)
    yield Case(name, [q, k, v, None, None, full, total], {**heads, "local_window_size": 2}, 3)
    rotary = {**heads, "do_rotary": 1}
    yield Case(name, [q, k, v, None, None, full, total, cos, sin], rotary, 3, (7, 8))
    yield Case(name, [q, k, v, None, None, full, total, cos, sin], {**rotary, "rotary_interleaved": 1}, 3, (7, 8))
    padded = lambda results: [results[0][0, :5], results[0][1, :3]]
    yield Case(name, [q, k, v, None, None, i32(4, 2), total, cos, sin], rotary, 3, (7, 8), keep=padded)
    packed = floats(2, 5, (h + 2 * kv) * d)
    yield Case(name, [packed, None, None, None, None, full, total, cos, sin], rotary, 3, (7, 8))
    yield Case(name, [q, k, v, None, None, full, total, None, None, None, floats(1, h, 5, 5)], heads, 3)
    sink = floats(h)
    yield Case(name, [q, k, v, None, None, full, total, None, None, None, None, sink], heads, 3)
    yield Case(name, [q, k, v, None, None, full, total], {**heads, "smooth_softmax": 1}, 3)
    one = [floats(2, 1, h * d), floats(2, 1, kv * d), floats(2, 1, kv * d)]
    past = [floats(2, kv, 4, d), floats(2, kv, 4, d)]
    yield Case(name, [*one, *past, full, total, cos, sin], rotary, 3, (7, 8))
    ragged = lambda results: [results[0], results[1][0, :, :5], results[1][1, :, :3]]
    yield Case(name, [*one, *past, i32(4, 2), total, cos, sin], rotary, 3, (7, 8), keep=ragged)
    chunk = [floats(1, 3, h * d), floats(1, 3, kv * d), floats(1, 3, kv * d)]
    earlier = [floats(1, kv, 4, d), floats(1, kv, 4, d)]
    seven = np.array(7, np.int32)
    yield Case(name, [*chunk, *earlier, i32(6), seven, cos, sin], {**rotary, "local_window_size": 3}, 3, (7, 8))
    yield Case(name, [*chunk, *earlier, i32(6), seven], heads, 3)

    x = floats(2, 5, h * d)
    at = integers(0, 16, 2, 5)
    yield Case("RotaryEmbedding", [x, at, cos, sin], {}, constants=(2, 3))
    yield Case("RotaryEmbedding", [x, at, cos, sin], {"interleaved": 1}, constants=(2, 3))
    yield Case("RotaryEmbedding", [x, np.array([3]), cos, sin], {}, constants=(2, 3))
    yield Case("RotaryEmbedding", [floats(2, h, 5, d), at, cos, sin], {}, constants=(2, 3))
    part = [floats(16, 2), floats(16, 2)]
    more = {"num_heads": h, "rotary_embedding_dim": 4}
    yield Case("RotaryEmbedding", [x, at, *part], more, constants=(2, 3))
    yield Case("RotaryEmbedding", [x, at, *part], {**more, "interleaved": 1}, constants=(2, 3))


def low_bits():
    n, k = 5, 70
    a, bias = floats(2, 3, k), floats(n)
    for bits in (2, 4, 8):
        for block in (16, 32):
            blocks = -(-k // block)
            q = integers(0, 256, n, blocks, block * bits // 8, dtype=np.uint8)
            scales = floats(n, blocks, low=0.01, high=0.1)
            points = integers(0, 256, n, -(-blocks * bits // 8), dtype=np.uint8)
            attrs = {"N": n, "K": k, "bits": bits, "block_size": block}
            weights = (1, 2, 3)
            yield Case("MatMulNBits", [a, q, scales], attrs, constants=weights)
            yield Case("MatMulNBits", [a, q, scales, points], attrs, constants=weights)
            yield Case("MatMulNBits", [a, q, scales, None, None, bias], attrs, constants=(1, 2, 5))
            if bits == 4:
                shifts = floats(n, blocks, low=5, high=9)
                yield Case("MatMulNBits", [a, q, scales, shifts], attrs, constants=weights)
                groups = integers(0, blocks, k, dtype=np.int32)
                yield Case("MatMulNBits", [a, q, scales, None, groups], attrs, constants=(1, 2, 4))


def quantized_tables():
    rows, width = 7, 70
    indices = integers(0, rows, 2, 3)
    for bits in (4, 8):
        for block in (16, 32):
            blocks = -(-width // block)
            q = integers(0, 256, rows, width * bits // 8, dtype=np.uint8)
            scales = floats(rows, blocks, low=0.01, high=0.1)
            points = integers(0, 256, rows, -(-blocks * bits // 8), dtype=np.uint8)
            attrs = {"bits": bits, "block_size": block}
            yield Case("GatherBlockQuantized", [q, indices, scales], attrs, constants=(0, 2))
            yield Case("GatherBlockQuantized", [q, indices - rows, scales, points], attrs, constants=(0, 2, 3))


def quantized():
    a, bias = floats(2, 3, 6), floats(5)
    for dtype, low, high in ((np.int8, -60, 60), (np.uint8, 0, 120)):
        b = integers(low, high, 6, 5, dtype=dtype)
        point, points = np.array(3, dtype), integers(0, 5, 5, dtype=dtype)
        scales = floats(5, low=0.01, high=0.05)
        yield Case("DynamicQuantizeMatMul", [a, b, f32(0.02)])
        yield Case("DynamicQuantizeMatMul", [a, b, f32(0.02), point, bias])
        yield Case("DynamicQuantizeMatMul", [a, b, scales, points, bias], constants=(1, 2, 3, 4))
        data = integers(0, 255, 2, 3, 6, dtype=np.uint8)
        name = "MatMulIntegerToFloat"
        yield Case(name, [data, b, f32(0.1), f32(0.02)])
        yield Case(name, [data, b, f32(0.1), f32(0.02), u8(128), point, bias])
        yield Case(name, [data, b, f32(0.1), scales, u8(100), points, bias], constants=(1, 3, 5))
    for dtype in (np.uint8, np.int8):
        info = np.iinfo(dtype)
        x = integers(info.min, info.max + 1, 2, 4, 6, 6, dtype=dtype)
        y = integers(info.min, info.max + 1, 4, 1, 6, dtype=dtype)
        p, q, r = (np.array(v, dtype) for v in (7, 3, 12))
        s, t, u = f32(0.031), f32(0.017), f32(0.043)
        for name in ("QLinearAdd", "QLinearMul"):
            yield Case(name, [x, s, p, y, t, q, u, r], steps=1)
            yield Case(name, [x, s, p, x, t, q, u], steps=1)
        yield Case("QLinearSigmoid", [x, s, p, f32(1 / 256), r], steps=1)
        yield Case("QLinearLeakyRelu", [x, s, p, u, r], {"alpha": 0.2}, steps=1)
        window = {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 0, 1, 1]}
        yield Case("QLinearAveragePool", [x, s, p, u, r], window, steps=1)
        yield Case("QLinearAveragePool", [x, s, p, u, r], {**window, "count_include_pad": 1}, steps=1)
        yield Case("QLinearAveragePool", [x, s, p, u, r], {**window, "channels_last": 1}, steps=1)
        yield Case("QLinearGlobalAveragePool", [x, s, p, u, r], steps=1)
        yield Case("QLinearGlobalAveragePool", [x, s, p, u, r], {"channels_last": 1}, steps=1)
        yield Case("QLinearConcat", [u, r, x, s, p, x[:, :2], t, q], {"axis": 1}, steps=1, constants=(0, 1, 3, 4, 6, 7))
        g, w = x[0, 0], x[0, 1].astype(np.int8)
        c = integers(-200, 200, 6, dtype=np.int32)
        yield Case("QGemm", [g, s, p, w, t, np.int8(2), c, f32(0.2), r], {"transB": 1, "alpha": 0.5}, steps=1, constants=(3,))
        yield Case("QGemm", [g, s, p, w, floats(6, low=0.01, high=0.02), np.zeros(6, np.int8), c], {"transA": 1}, constants=(3,))
    for direction in ("forward", "reverse", "bidirectional"):
        count = 2 if direction == "bidirectional" else 1
        x, w, r = floats(30, 2, 6), integers(-100, 100, count, 6, 16, dtype=np.int8), integers(-100, 100, count, 4, 16, dtype=np.int8)
        scales = [np.full(count, 0.005, np.float32), np.zeros(count, np.int8)]
        states = [floats(count, 2, 4), floats(count, 2, 4)]
        for each in (scales, [np.repeat(v[:, None], 16, 1) for v in scales]):
            for more in ([None] * 4, [i32(30, 12), *states, None], [None, *states, floats(count, 12)]):
                rest = [floats(count, 32), *more, *each, *each]
                attrs = {"hidden_size": 4, "direction": direction}
                fixed = (1, 2, 8, 9, 10, 11)
                for present in (None, (1, 2)):
                    yield Case("DynamicQuantizeLSTM", [x, w, r, *rest], attrs, 3, fixed, tolerance=1e-5, present=present)
    words = integers(-3000, 3000, 3, 4, dtype=np.int16)
    yield Case("QuantizeLinear", [floats(3, 4), f32(0.001), np.int16(5)])
    yield Case("DequantizeLinear", [words, floats(3, low=0.1), np.zeros(3, np.int16)], {"axis": 0})


def early():
    """What onnxruntime has in versions of ai.onnx that do not define it."""
    x, scale, bias = floats(2, 3, 4, 5), floats(5), floats(5)
    yield Case("LayerNormalization", [x, scale, bias], {"axis": -1, "epsilon": 1e-5}, 3, domain="", opset=13)
    yield Case("LayerNormalization", [x, scale, bias], {}, domain="", opset=9)
    yield Case("SimplifiedLayerNormalization", [x, scale], {"axis": -1}, domain="", opset=9)
    curve = {"alpha": 0.5, "beta": 2.0}
    for name, attrs in (
        ("Affine", curve),
        ("ScaledTanh", curve),
        ("ParametricSoftplus", curve),
        ("Scale", {"scale": 3.0}),
        ("ThresholdedRelu", {"alpha": 0.2}),
        ("ImageScaler", {"bias": [0.5, 1.0, 2.0], "scale": 2.0}),
        ("Crop", {"border": [1, 0, 2, 1]}),
        ("Crop", {"border": [1, 1, 0, 0], "scale": [2, 3]}),
        ("MeanVarianceNormalization", {"across_channels": 0, "normalize_variance": 1}),
        ("MeanVarianceNormalization", {"across_channels": 1, "normalize_variance": 1}),
        ("MeanVarianceNormalization", {"across_channels": 0, "normalize_variance": 0}),
    ):
        yield Case(name, [x], attrs, domain="", opset=8)


def others():
    x = floats(2, 4, 5)
    yield Case("Trilu", [x])
    yield Case("Trilu", [x, np.array(1)], {"upper": 0})
    yield Case("Unique", [np.array([3, 1, 3, 2, 1, 5], np.float32)], {}, 3)
    image = floats(2, 3, 6, 7)
    regions = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [0.73, 0.9, 0.2, 0.1], [-0.2, 0.1, 0.9, 1.2]], np.float32)
    index = i32(0, 1, 1, 0)
    for mode in ("bilinear", "nearest"):
        for size in (i32(4, 3), i32(1, 5)):
            attrs = {"mode": mode, "extrapolation_value": 0.25}
            yield Case("CropAndResize", [image, regions, index, size], attrs, constants=(3,))
            yield Case("CropAndResize", [image, regions, index, size], attrs)


def cases():
    for group in (gelus, norms, products, convolutions, attentions, grouped, low_bits, quantized_tables, quantized, early, others):
        yield from group()
