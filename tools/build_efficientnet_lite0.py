#!/usr/bin/env python3
"""Makes the demo's model folder: EfficientNet-Lite0 (ImageNet) as ONNX, laid out as on the Hugging Face hub.

    build_efficientnet_lite0.py WEIGHTS.pth FOLDER

Input pixel_values [batch,3,224,224]; outputs embedding [batch,1280] (L2 norm 1) and logits [batch,1000]. Needs numpy and
onnx, not PyTorch: the weights are read by an unpickler that knows the few names of a state dict and refuses all else.
"""
import collections
import json
import pathlib
import pickle
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 224
# repeats, stride of the first, expansion, channels in, channels out
STAGES = [
    (1, 1, 1, 32, 16),
    (2, 2, 6, 16, 24),
    (2, 2, 6, 24, 40),
    (3, 2, 6, 40, 80),
    (3, 1, 6, 80, 112),
    (4, 2, 6, 112, 192),
    (1, 1, 6, 192, 320),
]
FEATURES, CLASSES = 1280, 1000
BATCH_NORM_EPSILON = 1e-3

PROCESSOR = {
    "image_processor_type": "CLIPImageProcessor",
    "do_convert_rgb": True,
    "do_resize": True,
    "size": {"shortest_edge": 256},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": SIDE, "width": SIDE},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [127 / 255] * 3,
    "image_std": [128 / 255] * 3,
}
CONFIG = {
    "model_type": "efficientnet-lite0",
    "architectures": ["EfficientNetLite0"],
    "image_size": SIDE,
    "num_channels": 3,
    "hidden_dim": FEATURES,
    "num_labels": CLASSES,
}


class Storage:
    """The numbers of one or more tensors; they follow the pickles in the file."""

    def __init__(self, dtype, count):
        self.dtype, self.count, self.values = np.dtype(dtype), count, None


class StateDictUnpickler(pickle.Unpickler):
    DTYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "LongStorage": "<i8"}

    def __init__(self, file, storages):
        super().__init__(file)
        self.storages = storages

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, strides, *_: (storage, offset, shape, strides)
        if module == "torch" and name in self.DTYPES:
            return self.DTYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a state dict")

    def persistent_load(self, pid):
        _, dtype, key, _, count = pid[:5]
        return self.storages.setdefault(key, Storage(dtype, count))


def read_state_dict(path):
    """{name: array} of a file in torch.save's format from before PyTorch 1.6."""
    storages = {}
    with open(path, "rb") as file:

        def unpickle():
            return StateDictUnpickler(file, storages).load()

        if unpickle() != 0x1950A86A20F9469CFC6C:
            raise ValueError(f"{path}: not a PyTorch file of the old format")
        unpickle(), unpickle()  # protocol version, byte order and sizes of the writer
        tensors = unpickle()
        for key in unpickle():
            storage = storages[key]
            (count,) = struct.unpack("<q", file.read(8))
            if count != storage.count:
                raise ValueError(f"{path}: storage {key} holds {count} numbers, not {storage.count}")
            storage.values = np.frombuffer(file.read(count * storage.dtype.itemsize), storage.dtype)

    def array(storage, offset, shape, strides):
        steps = [s * storage.dtype.itemsize for s in strides]
        return np.ascontiguousarray(
            np.lib.stride_tricks.as_strided(storage.values[offset:], shape, steps))

    return {name: array(*tensor) for name, tensor in tensors.items()}


class Network:
    """An ONNX graph under construction; `top` is the value made last, of `side` x `side` pixels."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes, self.constants = [], []
        self.top, self.side = "pixel_values", SIDE
        self.n_convs = 0

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        self.top = output

    def conv(self, weight, norm, stride=1, groups=1, relu6=True):
        """Convolution with TensorFlow's 'SAME' padding and the batch norm folded into it."""
        self.n_convs += 1
        name = f"conv{self.n_convs}"
        w = self.weights[f"{weight}.weight"].astype(np.float64)
        gamma, beta, mean, variance = (self.weights[f"{norm}.{part}"].astype(np.float64) for part in
                                       ("weight", "bias", "running_mean", "running_var"))
        scale = gamma / np.sqrt(variance + BATCH_NORM_EPSILON)
        inputs = [
            self.top,
            self.constant(f"{name}_weight", (w * scale[:, None, None, None]).astype(np.float32)),
            self.constant(f"{name}_bias", (beta - mean * scale).astype(np.float32)),
        ]
        kernel, side = w.shape[2], -(-self.side // stride)
        padding = max((side - 1) * stride + kernel - self.side, 0)
        before, after = padding // 2, padding - padding // 2
        self.node("Conv", inputs, name, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                  group=groups, pads=[before, before, after, after])
        self.side = side
        if relu6:
            self.node("Clip", [name, "zero", "six"], f"{name}_relu6")

    def block(self, index, stride, expansion, channels_in, channels_out):
        """Inverted residual: widen, filter each channel, narrow, add the input where shapes agree."""
        at, shortcut = f"_blocks.{index}", self.top
        if expansion != 1:
            self.conv(f"{at}._expand_conv", f"{at}._bn0")
        self.conv(f"{at}._depthwise_conv", f"{at}._bn1", stride, groups=channels_in * expansion)
        self.conv(f"{at}._project_conv", f"{at}._bn2", relu6=False)
        if stride == 1 and channels_in == channels_out:
            self.node("Add", [self.top, shortcut], f"block{index}")

    def head(self):
        self.conv("_conv_head", "_bn1")
        self.node("GlobalAveragePool", [self.top], "pooled")
        self.node("Flatten", ["pooled"], "features", axis=1)
        classifier = [self.constant("fc_weight", self.weights["_fc.weight"]),
                      self.constant("fc_bias", self.weights["_fc.bias"])]
        self.node("Gemm", ["features", *classifier], "logits", transB=1)
        self.node("LpNormalization", ["features"], "embedding", axis=1, p=2)


def build(weights):
    net = Network(weights)
    net.constant("zero", np.float32(0))
    net.constant("six", np.float32(6))
    net.conv("_conv_stem", "_bn0", stride=2)
    index = 0
    for repeats, stride, expansion, channels_in, channels_out in STAGES:
        for i in range(repeats):
            net.block(index, stride if i == 0 else 1, expansion,
                      channels_in if i == 0 else channels_out, channels_out)
            index += 1
    net.head()

    def value(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])

    graph = helper.make_graph(net.nodes, "efficientnet_lite0", [value("pixel_values", 3, SIDE, SIDE)],
                              [value("embedding", FEATURES), value("logits", CLASSES)],
                              net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="brimful")
    onnx.checker.check_model(model, full_check=True)
    return model


def main(weights, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(build(read_state_dict(weights)), folder / "model.onnx")
    for name, content in ("config.json", CONFIG), ("preprocessor_config.json", PROCESSOR):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
