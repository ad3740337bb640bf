#!/usr/bin/env python3
"""Makes the small models in this folder and what ONNX Runtime's Python package computes with them.

Run it by hand with onnx, numpy and onnxruntime; what it makes is committed. Weights are random but
seeded, so that two runs give the same files. For the fixed input of `pixels` each model leaves
beside it <layer>.f32: the outputs as plain float32, in the machine's order.
"""
import json
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
SIDE = 32
DIM = 16
FLOAT, HALF, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


def pixels(n, height=SIDE, width=SIDE):
    """The same numbers in [-1, 1) as tests/session/test_onnx.c makes."""
    i = np.arange(n * 3 * height * width, dtype=np.uint64)
    u = (i * 2654435761 % 2**32).astype(np.uint64) >> 8
    return (u.astype(np.float64) * 2.0**-23 - 1).astype(np.float32).reshape(n, 3, height, width)


class Graph:
    """Nodes one after the other, with seeded weights."""

    def __init__(self, seed, dtype=np.float32):
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.nodes, self.weights = [], []

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
        return self.constant((self.random.standard_normal(shape) / np.sqrt(fan_in)).astype(self.dtype))

    def add(self, op, *inputs, out=None, **attributes):
        out = out or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def patches(self, image, patch=8, width=24):
        """(n, tokens, width): what a vision transformer starts with."""
        conv = self.add("Conv", image, self.weight(width, 3, patch, patch), self.weight(width),
                        kernel_shape=[patch, patch], strides=[patch, patch])
        flat = self.add("Reshape", conv, self.constant(np.array([0, width, -1], np.int64)))
        return self.add("Transpose", flat, perm=[0, 2, 1])

    def tokens(self, image, out=None):
        """(n, tokens, DIM)"""
        return self.add("Tanh", self.add("MatMul", self.patches(image), self.weight(24, DIM)), out=out)

    def pooled(self, tokens, out=None):
        """(n, DIM)"""
        mean = self.add("ReduceMean", tokens, axes=[1], keepdims=0)
        return self.add("Tanh", self.add("MatMul", mean, self.weight(DIM, DIM)), out=out)

    def model(self, inputs, outputs, opset=17):
        def port(name, shape, kind=None):
            kind = kind or (HALF if self.dtype == np.float16 else FLOAT)
            return helper.make_tensor_value_info(name, kind, shape)

        graph = helper.make_graph(self.nodes, "brimful-test", [port(*i) for i in inputs],
                                  [port(*o) for o in outputs], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                 producer_name="brimful tests", ir_version=9)
        onnx.checker.check_model(made)
        return made


IMAGE = ("pixel_values", ["batch", 3, SIDE, SIDE])


def pooler():
    g = Graph(1)
    g.pooled(g.tokens(IMAGE[0], out="last_hidden_state"), out="pooler_output")
    return g.model([IMAGE], [("last_hidden_state", ["batch", 16, DIM]), ("pooler_output", ["batch", DIM])])


def hidden():
    g = Graph(2)
    g.tokens(IMAGE[0], out="last_hidden_state")
    return g.model([IMAGE], [("last_hidden_state", ["batch", 16, DIM])])


def embeds():
    g = Graph(3)
    tokens = g.tokens(IMAGE[0], out="last_hidden_state")
    pooled = g.pooled(tokens, out="pooler_output")
    g.add("MatMul", pooled, g.weight(DIM, 12), out="image_embeds")
    g.add("ArgMax", pooled, axis=1, keepdims=0, out="top")
    return g.model([IMAGE], [("last_hidden_state", ["batch", 16, DIM]), ("top", ["batch"], INT64),
                             ("pooler_output", ["batch", DIM]), ("image_embeds", ["batch", 12])])


def fixed4():
    g = Graph(4)
    g.pooled(g.tokens(IMAGE[0]), out="pooler_output")
    return g.model([(IMAGE[0], [4, 3, SIDE, SIDE])], [("pooler_output", [4, DIM])])


def dynamic_hw():
    g = Graph(5)
    conv = g.add("Conv", "pixel_values", g.weight(24, 3, 4, 4), g.weight(24), kernel_shape=[4, 4], strides=[4, 4])
    flat = g.add("Flatten", g.add("GlobalAveragePool", g.add("Relu", conv)))
    g.add("MatMul", flat, g.weight(24, DIM), out="embedding")
    return g.model([("pixel_values", ["batch", "channels", "height", "width"])], [("embedding", ["batch", DIM])])


def half():
    g = Graph(6, np.float16)
    g.pooled(g.tokens(IMAGE[0]), out="pooler_output")
    return g.model([IMAGE], [("pooler_output", ["batch", DIM])])


def two_inputs():
    g = Graph(7)
    words = g.add("ReduceSum", g.add("Cast", "input_ids", to=FLOAT), g.constant(np.array([1], np.int64)), keepdims=1)
    g.add("Add", g.pooled(g.tokens(IMAGE[0])), words, out="image_embeds")
    return g.model([("input_ids", ["batch", "words"], INT64), IMAGE], [("image_embeds", ["batch", DIM])])


def text_only():
    g = Graph(8)
    g.add("Gather", g.weight(100, DIM), "input_ids", out="last_hidden_state")
    return g.model([("input_ids", ["batch", "words"], INT64)], [("last_hidden_state", ["batch", "words", DIM])])


def logits_only():
    g = Graph(9)
    g.add("MatMul", g.pooled(g.tokens(IMAGE[0])), g.weight(DIM, 10), out="logits")
    return g.model([IMAGE], [("logits", ["batch", 10])])


def external():
    g = Graph(10)
    g.pooled(g.tokens(IMAGE[0]), out="pooler_output")
    return g.model([IMAGE], [("pooler_output", ["batch", DIM])])


def nan():
    """0 / 0 where the mean of the pixels, as they come out of the processor, is below 0.1."""
    g = Graph(11)
    light = g.add("ReduceMean", IMAGE[0], axes=[1, 2, 3], keepdims=0)
    over = g.add("Relu", g.add("Sub", light, g.constant(np.float32(0.1))))
    one = g.add("Unsqueeze", g.add("Div", over, over), g.constant(np.array([1], np.int64)))
    g.add("Mul", g.pooled(g.tokens(IMAGE[0])), one, out="image_embeds")
    return g.model([IMAGE], [("image_embeds", ["batch", DIM])])


def wide():
    """Half a kilobyte of activations a pixel, at any height and width."""
    g = Graph(13)
    spread = g.add("Relu", g.add("Conv", "pixel_values", g.weight(64, 3, 1, 1), g.weight(64), kernel_shape=[1, 1]))
    mixed = g.add("Relu", g.add("Conv", spread, g.weight(64, 1, 3, 3), kernel_shape=[3, 3], pads=[1] * 4, group=64))
    flat = g.add("Flatten", g.add("GlobalAveragePool", mixed))
    g.add("MatMul", flat, g.weight(64, DIM), out="embedding")
    return g.model([("pixel_values", ["batch", 3, "height", "width"])], [("embedding", ["batch", DIM])])


def slow():
    """A tenth of a second of work a picture: one convolution again and again, with the same weights."""
    g = Graph(14)
    now = g.add("Conv", "pixel_values", g.weight(32, 3, 1, 1), g.weight(32), kernel_shape=[1, 1])
    kernel = g.constant((g.random.standard_normal((32, 32, 3, 3)) / 12).astype(np.float32))
    for _ in range(12):
        now = g.add("Relu", g.add("Conv", now, kernel, kernel_shape=[3, 3], pads=[1] * 4))
    flat = g.add("Flatten", g.add("GlobalAveragePool", now))
    g.add("MatMul", flat, g.weight(32, DIM), out="embedding")
    return g.model([("pixel_values", ["batch", 3, "height", "width"])], [("embedding", ["batch", DIM])])


def broken():
    """Models that no runtime can load, for its words."""
    out = {}
    g = Graph(12)
    g.add("Frobnicate", IMAGE[0], out="image_embeds")
    ports = [helper.make_tensor_value_info(n, FLOAT, s) for n, s in (IMAGE, ("image_embeds", ["batch", DIM]))]
    graph = helper.make_graph(g.nodes, "brimful-test", ports[:1], ports[1:])
    for name, opset in (("unknown_op", 17), ("unknown_opset", 999)):
        out[name] = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return out


def processor(kind="ViTImageProcessor", size=None, crop=None, mean=0.5, std=0.5, **more):
    config = {"image_processor_type": kind, "do_resize": True, "size": size or {"height": SIDE, "width": SIDE},
              "resample": 3, "do_rescale": True, "rescale_factor": 1 / 255,
              "do_normalize": True, "image_mean": [mean] * 3, "image_std": [std] * 3, **more}
    if crop:
        config |= {"do_center_crop": True, "crop_size": {"height": crop, "width": crop}}
    return config


# name: maker, place of the model, model_type, preprocessor_config.json
MODELS = {
    "pooler": (pooler, "onnx/model.onnx", "vit", processor()),
    "hidden": (hidden, "model.onnx", "dinov2", processor("BitImageProcessor", {"shortest_edge": 40}, crop=SIDE)),
    "embeds": (embeds, "onnx/vision_model.onnx", "clip_vision_model",
               processor("CLIPImageProcessor", {"shortest_edge": SIDE}, crop=SIDE, mean=0.45, std=0.27,
                         do_convert_rgb=True)),
    "fixed4": (fixed4, "model.onnx", "vit", processor()),
    "dynamic_hw": (dynamic_hw, "model.onnx", "custom",
                   processor("CLIPImageProcessor", {"shortest_edge": SIDE}, do_center_crop=False)),
    "half": (half, "onnx/model_fp16.onnx", "vit", processor()),
    "two_inputs": (two_inputs, "onnx/model.onnx", "clip", processor("CLIPImageProcessor")),
    "text_only": (text_only, "model.onnx", "bert", processor()),
    "logits_only": (logits_only, "model.onnx", "vit", processor(resample=2)),
    "external": (external, "onnx/model.onnx", "siglip", processor("SiglipImageProcessor")),
    "nan": (nan, "vision_model.onnx", "vit", processor(do_normalize=False)),
    "wide": (wide, "model.onnx", "custom", processor(do_resize=False)),
    "slow": (slow, "model.onnx", "custom", processor(size={"height": 192, "width": 192})),
}

# Where the input is not `pixels(3)`: batch, height, width.
INPUTS = {"fixed4": (4, SIDE, SIDE), "dynamic_hw": (2, 24, 40), "wide": (2, 24, 40), "slow": (1, 24, 40)}
NOT_RUN = {"two_inputs", "text_only"}


def save(model, path):
    path.parent.mkdir(parents=True)
    if path.parts[-3] != "external":
        onnx.save(model, path)
        return
    onnx.save(model, path, save_as_external_data=True, location="model.onnx_data", size_threshold=64)
    path.with_name("model.onnx_data").chmod(0o644)


def main():
    for name, (make, place, model_type, config) in MODELS.items():
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        save(make(), folder / place)
        (folder / "config.json").write_text(json.dumps({"model_type": model_type, "image_size": SIDE}, indent=2) + "\n")
        (folder / "preprocessor_config.json").write_text(json.dumps(config, indent=2) + "\n")
        if name in NOT_RUN:
            continue
        session = onnxruntime.InferenceSession(folder / place, providers=["CPUExecutionProvider"])
        image = pixels(*INPUTS.get(name, (3,)))
        if name == "nan":
            image = np.abs(image)
        if name == "half":
            image = image.astype(np.float16)
        names = [o.name for o in session.get_outputs() if "float" in o.type]
        for layer, values in zip(names, session.run(names, {"pixel_values": image})):
            values.astype(np.float32).tofile(folder / f"{layer}.f32")
            print(f"{name}: {layer} {values.shape}")

    (HERE / "broken").mkdir(exist_ok=True)
    for name, model in broken().items():
        onnx.save(model, HERE / "broken" / f"{name}.onnx")


main()
