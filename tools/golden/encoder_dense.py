#!/usr/bin/env python3
"""Folders of sentence-transformers with Dense modules and their vectors, computed by torch and transformers:
tests/golden/encoders/dense/NAME (modules.json, 2_Dense, ...) and tests/golden/encoders/dense.json.

usage: encoder_dense.py

A folder extends tests/golden/encoders/prompts, a small BERT. Vectors are of each text alone, after the default
prompt: mean of the tokens, then the modules as sentence_transformers.models.Dense and .Normalize compute them.
Versions: the file's "made_with".
"""
import json
import shutil
from pathlib import Path

import safetensors.torch
import tokenizers
import torch
import transformers

BASE = Path(__file__).resolve().parents[2] / "tests/golden/encoders"
TEXTS = ["hello", "hello world", "a b c d"]
ACTIVATIONS = {
    "identity": torch.nn.Identity,
    "tanh": torch.nn.Tanh,
    "relu": torch.nn.ReLU,
    "sigmoid": torch.nn.Sigmoid,
    "gelu": torch.nn.GELU,
    "silu": torch.nn.SiLU,
    "leaky_relu": torch.nn.LeakyReLU,
    "elu": torch.nn.ELU,
}


def dense(inputs, outputs, activation, bias=True, name_activation=True):
    return {"in": inputs, "out": outputs, "activation": activation, "bias": bias, "named": name_activation}


def folders(width):
    out = {name: [dense(width, 6, name)] for name in ACTIVATIONS}
    out["no_bias"] = [dense(width, 5, "tanh", bias=False)]
    out["unnamed_activation"] = [dense(width, 5, "tanh", name_activation=False)]
    out["then_normalize"] = [dense(width, 12, "tanh"), "Normalize"]
    out["after_normalize"] = ["Normalize", dense(width, 7, "identity")]
    out["two"] = [dense(width, 20, "gelu"), dense(20, 3, "identity"), "Normalize"]
    return out


def module_name(kind):
    return f"sentence_transformers.models.{kind}"


def write_folder(name, modules):
    """Writes the files of the modules; returns what computes them."""
    folder = BASE / "dense" / name
    listed = [("Transformer", ""), ("Pooling", "1_Pooling")]
    computes = []
    for at, module in enumerate(modules, start=2):
        if module == "Normalize":
            listed.append(("Normalize", f"{at}_Normalize"))
            computes.append(lambda x: torch.nn.functional.normalize(x, p=2, dim=-1))
            continue
        place = f"{at}_Dense"
        listed.append(("Dense", place))
        (folder / place).mkdir(parents=True)
        linear = torch.nn.Linear(module["in"], module["out"], bias=module["bias"])
        function = ACTIVATIONS[module["activation"]]()
        config = {"in_features": module["in"], "out_features": module["out"], "bias": module["bias"]}
        if module["named"]:
            config["activation_function"] = f"{type(function).__module__}.{type(function).__name__}"
        (folder / place / "config.json").write_text(json.dumps(config) + "\n")
        tensors = {"linear." + key: value.contiguous() for key, value in linear.state_dict().items()}
        safetensors.torch.save_file(tensors, folder / place / "model.safetensors", {"format": "pt"})
        computes.append(lambda x, linear=linear, function=function: function(linear(x)))
    rows = []
    for i, (kind, path) in enumerate(listed):
        rows.append({"idx": i, "name": str(i), "path": path, "type": module_name(kind)})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "modules.json").write_text(json.dumps(rows, indent=1) + "\n")
    return computes


def main():
    torch.manual_seed(11)
    shutil.rmtree(BASE / "dense", ignore_errors=True)
    model = transformers.BertModel.from_pretrained(BASE / "prompts").eval()
    tokenizer = tokenizers.Tokenizer.from_file(str(BASE / "prompts/tokenizer.json"))
    prompts = json.loads((BASE / "prompts/config_sentence_transformers.json").read_text())
    prompt = prompts["prompts"][prompts["default_prompt_name"]]
    out = {}
    with torch.inference_mode():
        pooled = []
        for text in TEXTS:
            ids = tokenizer.encode(prompt + text).ids
            hidden = model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long)).last_hidden_state[0]
            pooled.append(hidden.mean(0))
        for name, modules in folders(model.config.hidden_size).items():
            computes = write_folder(name, modules)
            out[name] = []
            for x in pooled:
                for compute in computes:
                    x = compute(x)
                out[name].append([float(f"{v:.9g}") for v in x])
    made = {"torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__}
    golden = {"made_with": made, "texts": TEXTS, "folders": out}
    (BASE / "dense.json").write_text(json.dumps(golden) + "\n")
    print(BASE / "dense.json", made)


if __name__ == "__main__":
    main()
