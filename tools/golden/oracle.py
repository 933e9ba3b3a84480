"""The language-model oracles share this module: versions, exact numbers in JSON, the forward pass and greedy decoding of transformers."""
import json
import platform

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM

torch.manual_seed(0)
torch.set_grad_enabled(False)


def versions():
    return {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__,
            "numpy": np.__version__}


def exact(values):
    """f32 values as the shortest decimals that read back to the same bits."""
    return [float(str(np.float32(v))) for v in np.asarray(values, dtype=np.float32).ravel()]


def load(folder):
    """The folder's stored weights, computed with in f32 by the plain (eager) attention."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def logits(model, ids):
    """Logits of every position, [T, V]."""
    return model(torch.tensor([ids]), use_cache=False).logits[0].numpy()


def greedy(model, ids, count):
    """`count` tokens by argmax and, at each step, the best logit less the second best."""
    tokens, gaps, step, cache = [], [], torch.tensor([ids]), None
    for _ in range(count):
        out = model(step, past_key_values=cache, use_cache=True)
        row, cache = out.logits[0, -1], out.past_key_values
        best = torch.topk(row, 2)
        tokens.append(int(best.indices[0]))
        gaps.append(exact([best.values[0] - best.values[1]])[0])
        step = torch.tensor([tokens[-1:]])
    return tokens, gaps


def write(path, value):
    """Objects and lists of objects indented, lists of numbers or texts on one line each."""
    def text(v, indent):
        pad = "\n" + " " * (indent + 1)
        if isinstance(v, dict):
            inner = ("," + pad).join(f"{json.dumps(k)}: {text(x, indent + 1)}" for k, x in v.items())
            return "{" + pad + inner + "\n" + " " * indent + "}"
        if isinstance(v, list) and v and isinstance(v[0], (dict, list)):
            return "[" + pad + ("," + pad).join(text(x, indent + 1) for x in v) + "\n" + " " * indent + "]"
        return json.dumps(v, ensure_ascii=False, separators=(",", ":"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text(value, 0) + "\n")
