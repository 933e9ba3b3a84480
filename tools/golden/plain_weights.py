#!/usr/bin/env python3
"""Networks from plain weights: what PyTorch and g2p-en answer, in tests/golden/bare.

usage: plain_weights.py DATA G2P_PY   (LOOM_DATA and g2p.py of the package g2p-en)

cases.json has modules of torch: hints, an input and the answer; their state_dicts are NAME.safetensors. silero.json has the
probabilities of torch for a synthetic voice (voice() below, which the test makes again). g2p.json has the results of the numpy
code of g2p-en for words. Versions: "made_with" in each.
"""
import json
import math
import shutil
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import nn

OUT = Path(__file__).resolve().parents[2] / "tests/golden/bare"


def cases():
    yield "mlp", nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3)), [2, 6], {"layers": [
        {"tensors": "0", "activation": "relu"}, {"tensors": "2"}, {"tensors": "3"}]}
    yield "mlp_without_hints", nn.Sequential(nn.Linear(6, 8), *[nn.Linear(8, 8) for _ in range(10)], nn.Linear(8, 3)), [2, 6], None

    class Last(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.rnn = inner

        def forward(self, x):
            return self.rnn(x)[0]

    yield "lstm", Last(nn.LSTM(5, 4, batch_first=True)), [2, 6, 5], None
    yield "lstm_deep", Last(nn.LSTM(5, 4, num_layers=2, bidirectional=True, batch_first=True)), [2, 6, 5], None
    yield "gru", Last(nn.GRU(5, 4, bidirectional=True, batch_first=True)), [2, 6, 5], None
    yield "rnn", Last(nn.RNN(5, 4, batch_first=True, bias=False)), [2, 6, 5], None
    conv = nn.Sequential(nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), nn.BatchNorm2d(6), nn.ReLU(), nn.ConvTranspose2d(6, 4, 3, groups=2))
    yield "conv", conv, [2, 4, 7, 6], {"layers": [
        {"tensors": "0", "stride": 2, "padding": 1, "groups": 2}, {"tensors": "1"}, {"type": "activation", "activation": "relu"},
        {"tensors": "3", "type": "convtransposed2", "groups": 2}]}

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(40, 12)
            self.mha = nn.MultiheadAttention(12, 3, batch_first=True)

        def forward(self, ids):
            x = self.table(ids)
            return self.mha(x, x, x, need_weights=False)[0]

    yield "attention", Attention(), [2, 5], {"layers": [{"tensors": "table", "type": "embedding"}, {"tensors": "mha", "num_heads": 3}]}

    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = nn.ModuleDict({"encoder": nn.Linear(6, 4), "head": nn.Linear(6, 2)})

        def forward(self, x):
            return self.model["encoder"](x)

    yield "renamed", Wrapped(), [2, 6], {"rename": {"model.": "", "model.encoder": "body"}, "ignore": ["head."], "layers": [{"tensors": "body"}]}


def write_cases():
    torch.manual_seed(3)
    rows = []
    for name, module, shape, hints in cases():
        module.eval()
        for buffer in module.buffers():
            if buffer.dtype == torch.float32:
                buffer.uniform_(0.5, 1.5)
        x = torch.randint(0, 40, shape) if name == "attention" else torch.randn(shape)
        with torch.inference_mode():
            y = module(x)
        safetensors.torch.save_file(module.state_dict(), OUT / f"{name}.safetensors")
        number = lambda v: float(f"{v:.9g}")
        rows.append({"name": name, "hints": hints, "x_shape": shape, "x": [number(v) for v in x.flatten().tolist()],
                     "y_shape": list(y.shape), "y": [number(v) for v in y.flatten().tolist()]})
    made = {"torch": torch.__version__, "safetensors": safetensors.__version__}
    (OUT / "cases.json").write_text(json.dumps({"made_with": made, "cases": rows}) + "\n")
    print(len(rows), "cases", made)


def voice(t):
    """A vowel of 120 Hz with three formants for samples 1024 to 5119, silence before and after."""
    if not 1024 <= t < 5120:
        return 0.0
    sum_ = 0.0
    for harmonic in range(1, 30):
        f = 120.0 * harmonic
        gain = sum(math.exp(-(((f - c) / w) ** 2)) for c, w in ((700.0, 130.0), (1220.0, 150.0), (2600.0, 200.0)))
        sum_ += (gain + 0.02) * math.sin(2 * math.pi * f * t / 16000.0)
    return 0.15 * sum_


def write_silero(path):
    """The module of silero-vad's tinygrad_model.py in torch. (Its silero_vad.onnx has other weights than this file.)"""
    weights = safetensors.torch.load_file(path)
    audio = torch.tensor([voice(t) for t in range(512 * 16)], dtype=torch.float32)
    cell = nn.LSTMCell(128, 128)
    cell.load_state_dict({k.split(".")[1]: v for k, v in weights.items() if k.startswith("lstm_cell.")})
    context, h, c, rows = torch.zeros(64), torch.zeros(1, 128), torch.zeros(1, 128), []
    conv = lambda x, name, **keys: nn.functional.conv1d(x, weights[name + ".weight"], weights.get(name + ".bias"), **keys)
    with torch.inference_mode():
        for i in range(0, len(audio), 512):
            x = torch.cat([context, audio[i:i + 512]])[None, None]
            context = audio[i + 448:i + 512]
            x = conv(nn.functional.pad(x, (0, 64), mode="reflect"), "stft_conv", stride=128)
            x = (x[:, :129] ** 2 + x[:, 129:] ** 2).sqrt()
            for name, stride in (("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)):
                x = conv(x, name, stride=stride, padding=1).relu()
            h, c = cell(x.squeeze(-1), (h, c))
            rows.append(float(f"{conv(h.relu()[..., None], 'final_conv').sigmoid().item():.8g}"))
    made = {"torch": torch.__version__, "silero-vad": "6.2.3, silero_vad_16k.safetensors"}
    (OUT / "silero.json").write_text(json.dumps({"made_with": made, "probabilities": rows}, indent=1) + "\n")
    print("silero", rows)


class Anything(types.ModuleType):
    """Stands for packages that g2p.py imports and that its network does not use."""

    def __getattr__(self, name):
        return Anything(name)

    def __call__(self, *arguments):
        return Anything("result")


def write_g2p(data, source):
    for name in ("nltk", "nltk.corpus", "nltk.tokenize", "g2p_en", "g2p_en.expand"):
        sys.modules[name] = Anything(name)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(Path(data) / "rnn/g2p_en_gru.npz", Path(folder) / "checkpoint20.npz")
        (Path(folder) / "homographs.en").write_text("")
        module = {"__name__": "g2p_en.g2p", "__package__": "g2p_en", "__file__": str(Path(folder) / "g2p.py")}
        exec(compile(Path(source).read_text(), source, "exec"), module)
        g2p = module["G2p"]()
    words = ["loom", "deterministic", "network", "activationist", "popcorn", "zyzzyva", "a", "straightforward", "quinoa"]
    rows = {w: g2p.predict(w) for w in words}
    made = {"g2p-en": "2.1.0, g2p.py", "numpy": np.__version__}
    (OUT / "g2p.json").write_text(json.dumps({"made_with": made, "phonemes": g2p.phonemes, "words": rows}, indent=1) + "\n")
    print("g2p", rows)


def main():
    OUT.mkdir(exist_ok=True)
    write_cases()
    write_silero(str(Path(sys.argv[1]) / "vad/silero_vad_16k.safetensors"))
    write_g2p(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
