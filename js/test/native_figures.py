"""Prints the figures that js/test compares, computed by the native library: native_figures.py MODEL DATA."""

import hashlib
import json
import sys

import welvet

SPEC = {"seed": 3, "layers": [
    {"type": "dense", "input_height": 8, "output_height": 16, "activation": "tanh"},
    {"type": "dense", "input_height": 16, "output_height": 4}]}
STEPS = 500
TEXTS = ["Hello world", "naïve café — 東京 🙂", "def f(x):\n    return x ** 2\n", "  two  spaces\t1234567", "don't stop"]
SENTENCES = ["It rains.", "The sun shines.", "Ada Lovelace wrote the first program."]


def training():
    net = welvet.Network(SPEC)
    trainer = welvet.Trainer(net, (4, 8), loss="mse", learning_rate=0.05, optimizer="adam")
    for step in range(STEPS):
        inputs = [[((step * 31 + i * 7 + j * 3) % 17) / 16 - 0.5 for j in range(8)] for i in range(4)]
        trainer.step(inputs, [[row[k] * 0.5 + row[k + 4] * 0.25 for k in range(4)] for row in inputs])
    return net.hash()


def graph(data):
    """The output of a voice detector for a sound that both sides compute exactly."""
    run = welvet.Graph(data + "/vad/silero_vad.onnx")
    sound = [[(i * 37 % 101) / 128 - 0.375 for i in range(512)]]
    state = [[[0.0] * 128], [[0.0] * 128]]
    out = run({"input": sound, "state": state, "sr": 16000})
    return hashlib.sha256(b"".join(memoryview(out[name]).tobytes() for name in ("output", "stateN"))).hexdigest()


def main():
    model, data = sys.argv[1:]
    lm = welvet.LM(model)
    tokens = [lm.tokenizer.encode(text) for text in TEXTS]
    vectors = welvet.Encoder(data + "/minilm").embed(SENTENCES)
    print(json.dumps({
        "answer": lm.generate("What is the capital of France?").hash,
        "drawn": lm.generate("Tell me a story.", max_tokens=12, temperature=0.8, top_k=40, top_p=0.9, seed=7).hash,
        "training": training(), "graph": graph(data), "tokens": tokens,
        "vectors": hashlib.sha256(memoryview(vectors).tobytes()).hexdigest()}))


main()
