"""Small networks beside ONNX Runtime, one thread each, interleaved: python bench/onnx_layers.py [--program BENCH_LAYERS] [--threads N]

Rows of bench/layers.json that are made of convolutions, pooling, lstm and dense layers become ONNX graphs with random weights.
Packages: onnx, onnxruntime, numpy.
"""
import argparse

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from beside import joined, loom_lines, program, table, timed

ROWS = ["voice activity 129x4 b1", "voice activity 129x64 b1", "small CNN 3x32x32 b1", "small CNN 3x32x32 b32", "cnn2 64-64 3x3 28x28 b1",
        "depthwise 64 3x3 28x28 b1", "mlp 784-512-256-10 b64", "mlp 4-64-64-3 b1", "lstm 128 T32 b1"]
SECONDS, ROUNDS = 0.3, 5


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(1)

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array((self.random.random(shape, dtype=np.float32) - 0.5) * 0.2, name))
        return name

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, dtype=np.int64), name))
        return name

    def node(self, kind, inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[-1]

    def layer(self, spec, x):
        kind = spec["type"]
        if kind == "sequential":
            for inner in spec["sequential_layers"]:
                x = self.layer(inner, x)
            return x
        if kind.startswith("cnn"):
            axes, k, pad = int(kind[-1]), spec["kernel_size"], spec.get("padding", 0)
            w = self.weight(spec["filters"], spec["input_channels"] // spec.get("groups", 1), *[k] * axes)
            x = self.node("Conv", [x, w, self.weight(spec["filters"])], strides=[spec.get("stride", 1)] * axes, pads=[pad] * 2 * axes,
                          group=spec.get("groups", 1))
        elif kind == "maxpool":
            x = self.node("MaxPool", [x], kernel_shape=[spec["kernel_size"]] * 2, strides=[spec["stride"]] * 2)
        elif kind == "reshape":
            x = self.node("Flatten", [x])
        elif kind == "permute":
            x = self.node("Transpose", [x], perm=spec["axes"])
        elif kind == "dense":
            x = self.node("Gemm", [x, self.weight(spec["input_height"], spec["output_height"]), self.weight(spec["output_height"])])
        elif kind == "lstm":
            n, h = spec["input_height"], spec["output_height"]
            time_first = self.node("Transpose", [x], perm=[1, 0, 2])
            weights = [self.weight(1, 4 * h, n), self.weight(1, 4 * h, h), self.weight(1, 8 * h)]
            if spec.get("return_sequence", True):
                self.nodes.append(helper.make_node("LSTM", [time_first, *weights], ["sequence"], hidden_size=h))
                x = self.node("Squeeze", ["sequence", self.constant([1])])
            else:
                x = self.node("Squeeze", [self.node("LSTM", [time_first, *weights], outputs=2, hidden_size=h), self.constant([0])])
        else:
            raise ValueError(kind)
        activation = {"relu": "Relu", "sigmoid": "Sigmoid"}.get(spec.get("activation"))
        return self.node(activation, [x]) if activation else x


def session(row, threads):
    graph = Graph()
    y = graph.layer(row["layer"], "x")
    model = helper.make_model(helper.make_graph(graph.nodes, "bench", [helper.make_tensor_value_info("x", TensorProto.FLOAT, row["x"])],
                                                [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], graph.weights),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=program("bench_layers"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    rows = {r["name"]: r for r in table("layers.json")}
    print(f"{'us, least and median':36}{'Loom':>20}{'ONNX Runtime ' + onnxruntime.__version__:>22}{'least':>8}{'median':>8}")
    for name in ROWS:
        run = session(rows[name], options.threads)
        x = {"x": np.random.default_rng(2).random(rows[name]["x"], dtype=np.float32) - 0.5}
        mine, theirs = [], []
        for _ in range(ROUNDS):
            lines = loom_lines(options.program, "layers.json", name, SECONDS, options.threads)
            mine += [tuple(line[2:]) for line in lines if line[:2] == [name, "forward"]]
            theirs.append(timed(lambda: run.run(None, x), SECONDS))
        a, b = joined(mine), joined(theirs)
        print(f"{name:36}{a[0]:10.1f}{a[1]:10.1f}{b[0]:11.1f}{b[1]:11.1f}{b[0] / a[0]:8.2f}{b[1] / a[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
