"""A row of tools/digest_matrix through the Python package: row.py [MODEL]. row.c says what it prints."""

import json
import sys

import welvet

SPEC = {"seed": 3, "layers": [
    {"type": "dense", "input_height": 8, "output_height": 16, "activation": "tanh"},
    {"type": "dense", "input_height": 16, "output_height": 4}]}


def learn():
    network = welvet.Network(SPEC)
    trainer = welvet.Trainer(network, (4, 8), loss="mse", learning_rate=0.05, optimizer="adam", threads=1)
    for step in range(500):
        inputs = [[((step * 31 + i * 7 + j * 3) % 17) / 16 - 0.5 for j in range(8)] for i in range(4)]
        trainer.step(inputs, [[row[k] * 0.5 + row[k + 4] * 0.25 for k in range(4)] for row in inputs])
    return network.hash()


row = {"digest": welvet.verify(), "training_steps": learn()}
if len(sys.argv) > 1:
    row["answer"] = welvet.LM(sys.argv[1]).generate("What is the capital of France?").hash
print(json.dumps(row))
