"""libwelvet.so: the 379 names of Loom 0.8x with their signatures; what is served works, what is not says so.

  compat.py libwelvet.so
"""

import base64
import ctypes
import json
import math
import os
import pathlib
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TYPES = {"#": ctypes.c_int64, "$": ctypes.c_char_p, "@": ctypes.POINTER(ctypes.c_float), "&": ctypes.POINTER(ctypes.c_int), "~": ctypes.c_float}


class LayerSpec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in "Z Y X L Type Activation DType".split() + [f"other{i}" for i in range(20)]]


class LayerStats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_float) for name in ("Avg", "Max", "Min")] + [(name, ctypes.c_int) for name in ("Active", "Total")]


RESULTS = {"s": ctypes.c_void_p, "h": ctypes.c_int64, "i": ctypes.c_int, "d": ctypes.c_double, "v": None,
           "LoomLayerSpec": LayerSpec, "LoomLayerStats": LayerStats}


class Library:
    """Calls by the names of 0.8x; texts are freed and JSON is read."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        table = json.loads((ROOT / "api/welvet_compat.json").read_text())
        self.names = {name: (params, result, status) for name, params, result, status in table["names"] + table["added"]}
        assert len(table["names"]) == 379
        for name, (params, result, _) in self.names.items():
            function = getattr(self.library, name)
            function.restype = RESULTS[result]
            function.argtypes = [TYPES.get(param[0], ctypes.c_int) for param in params]
        self.library.FreeLoomString.argtypes = [ctypes.c_void_p]

    def text(self, name, *given):
        address = getattr(self.library, name)(*given)
        out = ctypes.string_at(address)
        self.library.FreeLoomString(address)
        return out.decode()

    def json(self, name, *given):
        return json.loads(self.text(name, *given))

    def call(self, name, *given):
        return getattr(self.library, name)(*given)


def floats(*values):
    return (ctypes.c_float * len(values))(*values), len(values)


def expect(right, words):
    if not right:
        raise SystemExit(f"expected {words}")


def names(loom, path):
    shown = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    found = {line.split()[2].split("@")[0] for line in shown.splitlines()} - {"WELVET_0"}
    expect(found == set(loom.names), f"the names of api/welvet_compat.json: {found ^ set(loom.names)}")
    served = set(loom.json("LoomGetMethodsJSON"))
    for name, (params, result, status) in loom.names.items():
        expect((name in served) == (status != "unsupported"), f"{name} in LoomGetMethodsJSON when it is served")
        if name == "FreeLoomString":
            continue
        # Nothing at all, and numbers that are no handles: an answer, never a crash.
        for number in (0, 7, -1):
            given = [None if param[0] in "$@&" else number for param in params]
            if result == "s":
                answer = loom.text(name, *given)
                if status == "unsupported":
                    expect(json.loads(answer)["error"] == "unsupported", f"{name} to say that it is unsupported")
            else:
                answer = loom.call(name, *given)
                if status == "unsupported" and result in ("h", "i", "d"):
                    expect(answer == -1, f"-1 of {name}")
                if result == "LoomLayerSpec":
                    expect(answer.Type == -1, "a Type of -1")
                if result == "h" and name != "LoomNewVolumetricNetwork":  # of which numbers make a grid
                    expect(answer == -1 and loom.text("LoomLastError"), f"-1 and a reason from {name}")


# Dense layers of 0.8x have no biases, so each sample ends with a 1.
XOR = {"depth": 1, "rows": 1, "cols": 1, "layers_per_cell": 2, "layers": [
    {"z": 0, "y": 0, "x": 0, "l": 0, "type": "DENSE", "activation": "TANH", "dtype": "FLOAT32", "input_height": 3, "output_height": 8},
    {"z": 0, "y": 0, "x": 0, "l": 1, "type": "DENSE", "activation": "SIGMOID", "dtype": "FLOAT32", "input_height": 8, "output_height": 1}]}


def networks(loom):
    net = loom.call("LoomBuildNetworkFromJSON", json.dumps(XOR).encode())
    expect(net > 0, f"a network: {loom.text('LoomLastError')}")
    expect(isinstance(loom.json("LoomGetNetworkInfo", net), dict) and "error" not in loom.json("LoomGetNetworkInfo", net), "facts of a network")
    inputs, count = floats(0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1)
    targets, target_count = floats(0, 1, 1, 0)
    report = loom.json("LoomTrain", net, inputs, count, targets, target_count, 4, 3, 1, json.dumps(
        {"Epochs": 4000, "LearningRate": 2.0, "LossType": "mse", "Verbose": False}).encode())
    expect("error" not in report and len(report["loss_history"]) == 4000, f"a report of a training: {str(report)[:200]}")
    expect(report["final_loss"] < 0.02 < report["loss_history"][0], f"XOR to be learned: {report['final_loss']}")
    outputs = loom.json("LoomForwardPolymorphic", net, inputs, count, b"[4,3]")
    expect([round(value) for value in outputs] == [0, 1, 1, 0], f"XOR: {outputs}")
    one, n = floats(0, 1, 1)
    expect(loom.json("LoomSequentialForward", net, one, n) == [outputs[1]], "one sample to give what the batch gave")
    gradient = loom.json("LoomBackwardPolymorphic", net, inputs, count, b"[4,3]", targets, target_count, b"[4,1]")
    expect(len(gradient["dx"]) == 12 and len(gradient["dw"]) == 24, f"gradients: {str(gradient)[:200]}")

    text = loom.text("LoomSerializeNetwork", net).encode()
    entity = base64.b64decode(loom.json("LoomSerializeEntity", net)["b64"])
    for copy in (loom.call("LoomDeserializeNetwork", text, len(text)), entity_of(loom, entity)):
        expect(copy > 0, f"a copy: {loom.text('LoomLastError')}")
        expect(loom.json("LoomForwardPolymorphic", copy, inputs, count, b"[4,3]") == outputs, "a copy to give the same values")
        loom.call("LoomFreeNetwork", copy)
    expect(loom.json("LoomMorphLayer", net, 0, 9) == {"status": "ok"}, "int8")
    expect(loom.json("LoomForwardPolymorphic", net, inputs, count, b"[4,3]") != outputs, "other values in int8")
    for wrong in ((net, 0, 21), (net, 5, 1), (net, -1, 1), (net + 1, 0, 1)):
        expect("error" in loom.json("LoomMorphLayer", *wrong), f"an error of {wrong}")
    for shape in (b"[4]", b"[5,3]", b"x", b"[-1]", b"[1e30]", b"[18446744073709551615,2]"):
        expect("error" in loom.json("LoomForwardPolymorphic", net, inputs, count, shape), f"an error of the shape {shape}")
    for config in (b"[]", b"{", b'{"Epochs":"x"}', b'{"UseGPU":true}', b'{"LossType":"none"}', b'{"InputShape":[0]}', b'{"InputShape":[-1]}'):
        expect("error" in loom.json("LoomTrain", net, inputs, count, targets, target_count, 4, 3, 1, config), f"an error of {config}")
    loom.call("LoomFreeNetwork", net)
    loom.call("LoomFreeNetwork", net)
    expect("error" in loom.json("LoomForwardPolymorphic", net, inputs, count, b"[4,3]"), "a freed network to be an error")
    expect("error" in loom.json("LoomGetNetworkInfo", net), "a freed network to be an error")


def entity_of(loom, data):
    """The parameter is a char* that holds bytes."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int)(("LoomDeserializeEntity", loom.library))
    return function(ctypes.cast(ctypes.create_string_buffer(data, len(data)), ctypes.c_void_p), len(data))


def xor_network(loom, seed=1):
    net = loom.call("LoomBuildNetworkFromJSON", json.dumps({**XOR, "seed": seed, "input_shape": [3]}).encode())
    expect(net > 0, f"a network: {loom.text('LoomLastError')}")
    return net


def layers(loom):
    net = xor_network(loom)
    spec = loom.call("LoomGetLayerSpec", net, 1)
    expect((spec.Z, spec.L, spec.Type, spec.Activation, spec.DType, spec.other0, spec.other3) == (0, 1, 0, 4, 1, 8, 1), "the spec of layer 1")
    for wrong in ((net, 2), (net, -1), (net + 1, 0)):
        expect(loom.call("LoomGetLayerSpec", *wrong).Type == -1, f"a Type of -1 of {wrong}")
    facts = loom.json("LoomExtractNetworkBlueprint", net, b"mine")
    expect(facts["id"] == "mine" and [layer["parameters"] for layer in facts["layers"]] == [24, 8], f"a blueprint: {facts}")
    expect(loom.json("LoomGetLayerTelemetry", net, 1)["kind"] == "dense", "telemetry of a layer")
    expect("error" in loom.json("LoomGetLayerTelemetry", net, 2), "no third layer")
    dna = loom.json("LoomExtractDNA", net)
    expect([(d["Type"], d["Z"], d["L"], len(d["Weights"])) for d in dna] == [("dense", 0, 0, 24), ("dense", 0, 1, 8)], f"signatures: {str(dna)[:200]}")
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.1", 0))
    listener.settimeout(10)
    loom.call("LoomNetworkTanhiConfigure", net, 1, b"127.0.0.1", listener.getsockname()[1], 1)
    one, count = floats(0, 1, 1)
    loom.json("LoomSequentialForward", net, one, count)
    expect([json.loads(listener.recv(65536))["label"] for _ in range(2)] == ["layers.0", "layers.1"], "a report of each layer")
    loom.call("LoomNetworkTanhiDisable", net)
    loom.json("LoomSequentialForward", net, one, count)
    listener.settimeout(0.2)
    try:
        listener.recv(65536)
        raise SystemExit("expected no report")
    except socket.timeout:
        pass
    listener.close()
    loom.call("LoomFreeNetwork", net)


def tensor(loom, *values, shape=None):
    data, count = floats(*values)
    made = loom.call("LoomCreateTensor", data, count, json.dumps(shape or [1, count]).encode())
    expect(made > 0, f"a tensor: {loom.text('LoomLastError')}")
    return made


# Every kind that has a per-layer name: its layer, an input of it, and values per sample.
SINGLE = {
    "Dense": ({"type": "dense", "input_height": 3, "output_height": 2, "activation": "tanh"}, [2, 3]),
    "RMSNorm": ({"type": "rmsnorm", "input_height": 4}, [2, 4]),
    "LayerNorm": ({"type": "layernorm", "input_height": 4}, [2, 4]),
    "MHA": ({"type": "mha", "d_model": 4, "num_heads": 2}, [1, 3, 4]),
    "Softmax": ({"type": "softmax"}, [2, 4]),
    "SwiGLU": ({"type": "swiglu", "input_height": 4, "output_height": 6}, [2, 4]),
    "Embedding": ({"type": "embedding", "vocab_size": 5, "embedding_dim": 3}, [1, 4]),
    "KMeans": ({"type": "kmeans", "input_height": 4, "num_clusters": 3}, [2, 4]),
    "RNN": ({"type": "rnn", "input_height": 3, "output_height": 2}, [1, 4, 3]),
    "LSTM": ({"type": "lstm", "input_height": 3, "output_height": 2}, [1, 4, 3]),
    "CNN1": ({"type": "cnn1", "input_channels": 2, "filters": 3, "kernel_size": 2}, [1, 2, 5]),
    "CNN2": ({"type": "cnn2", "input_channels": 1, "filters": 2, "kernel_size": 2}, [1, 1, 4, 4]),
    "CNN3": ({"type": "cnn3", "input_channels": 1, "filters": 2, "kernel_size": 2}, [1, 1, 3, 3, 3]),
    "ConvTransposed1D": ({"type": "convtransposed1", "input_channels": 2, "filters": 3, "kernel_size": 2}, [1, 2, 4]),
    "ConvTransposed2D": ({"type": "convtransposed2", "input_channels": 1, "filters": 2, "kernel_size": 2}, [1, 1, 3, 3]),
    "ConvTransposed3D": ({"type": "convtransposed3", "input_channels": 1, "filters": 2, "kernel_size": 2}, [1, 1, 2, 2, 2]),
    "Residual": ({"type": "residual", "skip_from": "external"}, [2, 3]),
}


def single_layers(loom):
    """A layer alone gives the bits that the network of that layer gives, tiled or not, forward and backward."""
    for name, (layer, shape) in SINGLE.items():
        net = loom.call("LoomBuildNetworkFromJSON", json.dumps({"seed": 3, "layers": [layer]}).encode())
        expect(net > 0, f"{name}: {loom.text('LoomLastError')}")
        count = math.prod(shape)
        values = [float(i % 4) if name == "Embedding" else (i * 7 % 11 - 5) / 4 for i in range(count)]
        x = tensor(loom, *values, shape=shape)
        skip = [tensor(loom, *[1.0] * count, shape=shape)] if name == "Residual" else []
        out = loom.json(f"Loom{name}Forward", net, 0, x, *skip)
        expect("error" not in out and math.prod(out["shape"]) == len(out["output"]), f"{name} forward: {str(out)[:200]}")
        if name == "Residual":
            expect(out["output"] == [v + 1 for v in values], f"the skip to be added: {out}")
        else:
            whole = loom.json("LoomForwardPolymorphic", net, (ctypes.c_float * count)(*values), count, json.dumps(shape).encode())
            expect(out["output"] == whole, f"{name}: the bits of the network")
        for other in (f"Loom{name}ForwardTiled", "LoomDispatchLayer"):
            if other in loom.names:
                more = skip or ([0] if other == "LoomDispatchLayer" else [])
                expect(loom.json(other, net, 0, x, *more) == out, f"{other} to be {name}Forward")
        g = tensor(loom, *[1.0] * len(out["output"]), shape=out["shape"])
        back = loom.json(f"Loom{name}Backward", net, 0, g, x, 0)
        if name == "KMeans" or name == "Embedding":
            expect("dx" in back or "error" in back, f"{name} backward: {str(back)[:200]}")
        else:
            expect("error" not in back and len(back["dx"]) in (0, count), f"{name} backward: {str(back)[:200]}")
        if f"Loom{name}BackwardTiled" in loom.names:
            expect(loom.json(f"Loom{name}BackwardTiled", net, 0, g, x, 0) == back, f"{name}BackwardTiled to be {name}Backward")
        wrong = "LoomSoftmaxForward" if name != "Softmax" else "LoomDenseForward"
        expect("of the kind" in loom.json(wrong, net, 0, x)["error"], f"{wrong} to refuse a layer of {name}")
        for handle in (x, g, *skip):
            loom.call("LoomFreeTensor", handle)
        expect("invalid handle" in loom.json(f"Loom{name}Forward", net, 0, x, *skip)["error"], "a tensor that was freed")
        loom.call("LoomFreeNetwork", net)


def dense_by_hand(loom):
    """Gradients of one dense layer, by hand: dw = g x, db = g, dx = W^T g."""
    net = loom.call("LoomBuildNetworkFromJSON", json.dumps({"seed": 1, "layers": [SINGLE["Dense"][0] | {"activation": "linear"}, SINGLE["Dense"][0] | {"input_height": 2}]}).encode())
    x, g = tensor(loom, 1, 2, 3), tensor(loom, 1, -1)
    back = loom.json("LoomDenseBackward", net, 0, g, x, 0)
    expect(back["dw"]["layers.0.weight"] == [1, 2, 3, -1, -2, -3], f"dw: {back['dw']}")
    y = loom.json("LoomDenseForward", net, 0, x)["output"]
    loom.call("LoomApplyGradients", net, 0, json.dumps({"Data": back["dw"]["layers.0.weight"]}).encode(), 0.5)
    moved = loom.json("LoomDenseForward", net, 0, x)["output"]
    expect(all(abs(b - (a - s * 7)) < 1e-4 for a, b, s in zip(y, moved, (1, -1))), f"weights to move: {y} {moved}")
    clipped = loom.json("LoomApplyGradientsNative", net, 0, 1, json.dumps([100.0] * 6).encode(), 1.0, 0.25)
    expect(clipped == {"status": "ok"}, f"clipped gradients: {clipped}")
    after = loom.json("LoomDenseForward", net, 0, x)["output"]
    expect(all(abs(b - (a - 0.25 * 6)) < 1e-4 for a, b in zip(moved, after)), f"gradients to be clipped: {moved} {after}")
    expect("error" in loom.json("LoomApplyGradientsNative", net, 0, 9, b"[1]", 1.0, 0.0), "another type to be refused")
    loom.call("LoomApplyGradients", net, 0, b"[1, 2]", 0.5)
    expect("2 gradients" in loom.text("LoomLastError"), loom.text("LoomLastError"))
    expect(loom.json("LoomComputeLossGradient", g, g, b"mse") == [0, 0], "no gradient at the target")
    expect(loom.json("LoomComputeLossGradient", g, tensor(loom, 0, 0), b"mse") == [1, -1], "2 (y - t) / N")
    expect("unsupported" in loom.json("LoomComputeLossGradient", g, g, b"hinge")["error"], "a loss that is not known")
    expect(loom.json("LoomComputeLayerStats", x) == {"Avg": 2, "Max": 3, "Min": 1, "Active": 3, "Total": 3}, "figures of a tensor")
    expect(loom.call("LoomStackLayerCount", net) == 2 and loom.call("LoomStackLayerCount", net + 1) == -1, "two layers")
    for wrong in ((b"[2, 2]", 3), (b"nonsense", 3), (b"[-1]", 3), (b"[]", 3)):
        data, _ = floats(1, 2, 3)
        expect(loom.call("LoomCreateTensor", data, wrong[1], wrong[0]) == -1, f"no tensor of {wrong}")
    loom.call("LoomFreeNetwork", net)
    grid = loom.call("LoomNewVolumetricNetwork", 2, 1, 3, 1)
    expect(grid > 0 and loom.call("LoomStackLayerCount", grid) == 6, f"an empty grid: {loom.text('LoomLastError')}")
    expect(loom.call("LoomNewVolumetricNetwork", 0, 1, 1, 1) == -1, "no grid without cells")
    loom.call("LoomFreeNetwork", grid)


def tiles(loom):
    net = loom.call("LoomBuildNetworkFromJSON", json.dumps({"layers": [SINGLE["Dense"][0], {"type": "dense", "input_height": 2, "output_height": 2}]}).encode())
    width = loom.call("LoomCalculateOptimalDenseSimdTileSizeForLayer", net, 0, 1)
    expect(width in (16, 32), f"a panel or two: {width}")
    expect(loom.call("LoomCalculateOptimalDenseSimdTileSizeForLayer", net, 0, 9) == 16, "codes: a panel")
    expect(loom.call("LoomCalculateOptimalRNNSimdTileSizeForLayer", net, 0, 1) == -1, "no rnn")
    expect(loom.call("LoomCalculateOptimalDenseSimdTileSizeForLayer", net, 0, 99) == -1, "no such type")
    few, many = ctypes.c_int(7), ctypes.c_int(7)
    loom.call("LoomDenseGPUTileSizes", net, 1, few, many)
    expect((few.value, many.value) == (8, 64), f"tiles of a card: {few.value}, {many.value}")
    expect((loom.call("LoomGetGPUSCTileSize", net), loom.call("LoomGetGPUMCTileSize", net)) == (8, 64), "the same for float32")
    loom.call("LoomDenseGPUTileSizes", net, 0, few, many)
    expect((few.value, many.value) == (0, 0), "float64 has no shader")
    loom.call("LoomDenseGPUTileSizes", net + 1, 1, few, many)
    expect((few.value, many.value) == (-1, -1), "no network")
    conv = loom.call("LoomBuildNetworkFromJSON", json.dumps({"layers": [SINGLE["CNN2"][0]]}).encode())
    for name in ("LoomCalculateOptimalCNN2TileSizeForLayer", "LoomCalculateOptimalCNN2SimdTileSizeForLayer"):
        expect(loom.call(name, conv, 0, 1) == 16, f"{name}: sixteen positions")
    loom.call("LoomCNN2GPUTileSizes", conv, 1, few, many)
    expect((few.value, many.value) == (64, 64), "a thread for each output")
    info = loom.json("LoomGPUInfoJSON")
    expect("error" in info or "adapters" in info, f"graphics cards, or why there are none: {info}")
    for handle in (net, conv):
        loom.call("LoomFreeNetwork", handle)


def files(loom):
    path = os.path.join(os.environ["LOOM_DATA"], "rnn/g2p_en_gru.npz").encode()  # bare tensors
    net = loom.call("LoomLoadUniversal", path)
    expect(net > 0, f"a network of tensors: {loom.text('LoomLastError')}")
    report = loom.json("LoomLoadUniversalDetailed", path)
    expect(report["kind"] == "network" and len(report["tensors"]) > 4 and report["handle"] > 0, f"where each tensor went: {str(report)[:200]}")
    for each in (net, report["handle"]):
        loom.call("LoomFreeNetwork", each)
    model = os.path.join(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf").encode()
    for wrong in (b"nowhere", model):
        expect(loom.call("LoomLoadUniversal", wrong) == -1 and loom.text("LoomLastError"), "no network")
        expect("error" in loom.json("LoomLoadUniversalDetailed", wrong), "an error")


def meshes(loom):
    net = xor_network(loom)
    one, count = floats(0, 1, 1)
    plain = loom.json("LoomSequentialForward", net, one, count)
    state = loom.call("LoomCreateStepState", net, 1)
    expect(state > 0, f"a state: {loom.text('LoomLastError')}")
    expect(loom.call("LoomStep", net, state, 0) == -1 and "no input" in loom.text("LoomLastError"), "no tick before an input")
    loom.call("LoomSetInput", state, one, count)
    for _ in range(2):
        expect(loom.call("LoomStep", net, state, 1) > 0, f"a tick: {loom.text('LoomLastError')}")
    expect(loom.json("LoomGetOutput", state, 1) == plain, "two ticks to give the output of a forward")
    expect("error" in loom.json("LoomGetOutput", state, 7), "no such layer")
    slope, n = floats(1)
    expect(len(loom.json("LoomStepBackward", net, state, slope, n)) == 3, "the gradient of the input")
    target, n = floats(0.9)
    gaps = []
    for _ in range(40):
        gaps.append(abs(loom.json("LoomGetOutput", state, 1)[0] - 0.9))
        loom.call("LoomApplyTween", net, state, target, n, 0.2)
        for _ in range(2):
            loom.call("LoomStep", net, state, 0)
    expect(gaps[-1] < 0.5 * gaps[0], f"the gap to fall: {gaps[0]} to {gaps[-1]}, {loom.text('LoomLastError')}")
    other = xor_network(loom, 2)
    expect(loom.call("LoomStep", other, state, 0) == -1, "a state of another network to be refused")
    loom.call("LoomFreeStepState", state)
    expect("error" in loom.json("LoomGetOutput", state, 1), "a freed state to be an error")
    expect(loom.call("LoomCreateStepState", net, 21) == -1, "no such type")
    for each in (net, other):
        loom.call("LoomFreeNetwork", each)


def targets(loom):
    net = xor_network(loom)
    state = loom.call("LoomCreateTweenState", net, 1)
    expect(state > 0, f"a tween state: {loom.text('LoomLastError')}")
    one, count = floats(0, 1, 1)
    target, n = floats(0.9)
    gaps = []
    for _ in range(40):
        gaps.append(abs(loom.json("LoomTweenForward", net, state, one, count)[0] - 0.9))
        loom.call("LoomTweenBackward", net, state, target, n)
        loom.call("LoomApplyTweenGaps", net, state, 0.2)
    expect(gaps[-1] < 0.5 * gaps[0], f"the gap to fall: {gaps[0]} to {gaps[-1]}, {loom.text('LoomLastError')}")
    expect(loom.json("LoomDefaultTweenConfig")["DepthScaleFactor"] == 1.1, "the numbers of 0.8x")
    loom.call("LoomFreeTweenState", state)
    expect("error" in loom.json("LoomTweenForward", net, state, one, count), "a freed state to be an error")
    loom.call("LoomFreeNetwork", net)


def evolution(loom):
    a, b = xor_network(loom, 1), xor_network(loom, 2)
    weights = [loom.json("LoomExtractDNA", each)[0]["Weights"] for each in (a, b)]
    expect(loom.json("LoomDefaultSpliceConfig") ==
           {"CrossoverMode": "blend", "BlendAlpha": 0.5, "SplitRatio": 0.5, "FitnessA": 0.0, "FitnessB": 0.0, "Seed": 0}, "the defaults of 0.8x")
    child = loom.call("LoomSpliceDNA", a, b, b'{"BlendAlpha":1.0}')
    expect(child > 0, f"a child: {loom.text('LoomLastError')}")
    got = loom.json("LoomExtractDNA", child)[0]["Weights"]
    expect(max(abs(x - y) for x, y in zip(got, weights[1])) < 1e-6, "all of the second network")
    for wrong in (b"[]", b"{", b'{"CrossoverMode":"no such"}'):
        expect(loom.call("LoomSpliceDNA", a, b, wrong) == -1, f"an error of {wrong}")
    config = json.dumps({**loom.json("LoomDefaultNEATConfig", 8), "NodeMutateRate": 0.0, "ConnectionAddRate": 0.0, "LayerToggleRate": 0.0, "Seed": 5}).encode()
    changed, again = (loom.call("LoomNEATMutate", a, config) for _ in range(2))
    expect(changed > 0, f"a mutation: {loom.text('LoomLastError')}")
    expect(loom.json("LoomExtractDNA", changed) == loom.json("LoomExtractDNA", again) != loom.json("LoomExtractDNA", a), "the same seed to change the same")
    expect(loom.json("LoomExtractDNA", a)[0]["Weights"] == weights[0], "the parent to stay")
    inputs, count = floats(0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1)
    people = loom.call("LoomNewNEATPopulation", a, 12, config)
    expect(people > 0 and loom.call("LoomNEATPopulationSize", people) == 12, f"a population: {loom.text('LoomLastError')}")
    expect(loom.call("LoomNEATPopulationBest", people) == -1, "none is the best before all are judged")

    def fitness(net):
        outputs = loom.json("LoomForwardPolymorphic", net, inputs, count, b"[4,3]")
        return -sum((x - y) ** 2 for x, y in zip(outputs, (0, 1, 1, 0)))

    best = []
    for _ in range(8):
        found = []
        for i in range(12):
            member = loom.call("LoomNEATPopulationGetNetwork", people, i)
            found.append(fitness(member))
            loom.call("LoomFreeNetwork", member)
        expect(loom.json("LoomNEATPopulationEvolveWithFitnesses", people, json.dumps(found).encode()) == {"status": "ok"}, loom.text("LoomLastError"))
        best.append(loom.call("LoomNEATPopulationBestFitness", people))
    winner = loom.call("LoomNEATPopulationBest", people)
    expect(best[-1] >= best[0] and abs(fitness(winner) - best[-1]) < 1e-6, f"the best of all: {best}")
    expect(loom.text("LoomNEATPopulationSummary", people, 8).startswith("Gen 8 | best -"), "a summary")
    for wrong in (b"[1]", b"x"):
        expect("error" in loom.json("LoomNEATPopulationEvolveWithFitnesses", people, wrong), f"an error of {wrong}")
    expect(loom.call("LoomNEATPopulationGetNetwork", people, 12) == -1, "no such member")
    loom.call("LoomFreeNEATPopulation", people)
    expect(loom.call("LoomNEATPopulationSize", people) == -1, "a freed population to be an error")
    for each in (a, b, child, changed, again, winner):
        loom.call("LoomFreeNetwork", each)


def language_models(loom):
    path = os.path.join(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf").encode()
    for wrong in (b"nowhere", b'a "quoted" \\ path'):
        expect(loom.call("LoomCreateLLM", wrong, 3, 32, 0, 1) == -1 and "nowhere" in loom.text("LoomLastError") + "nowhere", "no model")
    model = loom.call("LoomCreateLLM", path, 3, 32, 0, 1)
    expect(model > 0, f"a model: {loom.text('LoomLastError')}")
    question = b"What is the capital of France?"
    answer = loom.json("LoomLLMGenerate", model, b"", question, 0.0, 0, 32)
    expect(answer.get("response") == "The capital of France is Paris.", f"the answer of the README: {answer}")
    expect({"prefill_tps", "decode_tps", "total_tps", "ram_mb", "vram_mb"} <= answer.keys(), "figures")
    second = loom.json("LoomLLMGenerate", model, b"", b"And of Italy?", 0.0, 0, 32)["response"]
    expect("Rome" in second, f"the talk to go on: {second}")
    loom.call("LoomLLMResetHistory", model)
    loom.call("LoomLLMStartGenerate", model, b"", question, 0.0, 0, 32)
    said = ""
    while (told := loom.json("LoomLLMPollToken", model))["s"] != 1:
        expect("error" not in told, f"pieces: {told}")
        said += told.get("t", "")
    expect(said == told["response"] == answer["response"], f"pieces that make the answer: {said!r}")
    expect(loom.json("LoomLLMPollToken", model) == {"s": 2}, "nothing after the end")
    expect(loom.text("LoomGenerate", model, question, 32) == answer["response"], "the answer alone")
    loom.call("LoomFreeLLM", model)
    expect("error" in loom.json("LoomLLMGenerate", model, b"", question, 0.0, 0, 4), "a freed model to be an error")

    model_memory(loom, path)

    tokenizer = loom.call("LoomLoadTokenizer", path)
    expect(tokenizer > 0, "a tokenizer")
    ids = loom.json("LoomTokenize", tokenizer, "Hello wörld".encode())
    expect(loom.text("LoomDetokenize", tokenizer, json.dumps(ids).encode()) == "Hello wörld", f"the text back: {ids}")
    expect("error" in loom.json("LoomDetokenize", tokenizer, b'["x"]'), "ids that are none to be an error")
    loom.call("LoomFreeTokenizer", tokenizer)
    expect("error" in loom.json("LoomTokenize", tokenizer, b"x"), "a freed tokenizer to be an error")


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def model_memory(loom, path):
    """FreeNetwork frees what LoadModel gave: the specification's header has no other function for it."""
    most, before = os.path.getsize(path) // 2, 0
    for turn in range(4):
        model = loom.call("LoadModel", path)
        expect(model > 0, f"a model: {loom.text('LoomLastError')}")
        loom.call("FreeNetwork", model)
        expect("error" in loom.json("LoomLLMGenerate", model, b"", b"hi", 0.0, 0, 4), "a freed model to be an error")
        before = before or resident_bytes()  # after the first one: what is kept once counts as before
        expect(resident_bytes() - before < most, f"memory to be given back, {resident_bytes() - before} bytes more after {turn + 1}")


def served_names(table):
    """How many of the 379 names do something; docs/guide/bindings.md says it."""
    served = sum(status != "unsupported" for _, _, _, status in table["names"])
    page = " ".join((ROOT / "docs/guide/bindings.md").read_text().split())
    expect(f"{served} of them are served" in page, f"docs/guide/bindings.md to say: {served} of them are served")


def main():
    path = sys.argv[1]
    served_names(json.loads((ROOT / "api/welvet_compat.json").read_text()))
    loom = Library(path)
    names(loom, path)
    networks(loom)
    layers(loom)
    single_layers(loom)
    dense_by_hand(loom)
    tiles(loom)
    files(loom)
    meshes(loom)
    targets(loom)
    evolution(loom)
    language_models(loom)
    served = sum(status != "unsupported" for _, _, status in loom.names.values())
    print(f"{len(loom.names)} names, {served} of them served")


if __name__ == "__main__":
    main()
