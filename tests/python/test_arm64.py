"""The package under a Python for arm64 (qemu) with the library for AArch64: the numbers of this machine's.

    test_arm64.py FOLDER LIBRARY    a Python that tools/arm64_python.sh unpacked, and a libloom.so for AArch64

With LOOM_OUTSIDE=whole a language model answers too. Exit 77 where one of the two is missing: skipped.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
USE = """
import hashlib, json, sys, welvet
net = welvet.Network({"seed": 7, "input_shape": [6, 10], "layers": [
    {"type": "lstm", "input_height": 10, "output_height": 24},
    {"type": "dense", "input_height": 24, "output_height": 5, "activation": "tanh"}]})
x = [[[((i * 60 + j * 10 + k) % 17) / 8 - 1 for k in range(10)] for j in range(6)] for i in range(3)]
trainer = welvet.Trainer(net, (3, 6, 10), optimizer={"name": "adam"}, learning_rate=0.01, loss="mse")
y = net(x)
losses = [trainer.step(x, [[[0.5] * 5] * 6] * 3).loss for _ in range(5)]
told = {"output": hashlib.sha256(bytes(memoryview(y).cast("B"))).hexdigest(), "losses": losses, "network": net.hash(),
        "verify": welvet.verify()}
if len(sys.argv) > 1:
    model = welvet.LM(sys.argv[1])
    answer = model.generate("The sea is", max_tokens=8)
    told["answer"] = [answer.text, answer.hash]
print(json.dumps(told))
"""


def use(command, library, *arguments):
    """What the script tells, run with a library."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LOOM", "PYTHON"))}
    env.update(
        WELVET_LIBRARY=str(library),
        WELVET_WITHOUT_NUMPY="1",
        PYTHONPATH=str(ROOT / "python"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    done = subprocess.run([*command, "-c", USE, *arguments], capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]}: {done.stderr}")
    return json.loads(done.stdout)


class Arm64(unittest.TestCase):
    def test_it_computes_what_this_machine_computes(self):
        folder, library = map(pathlib.Path, sys.argv[1:3])
        arm = ["qemu-aarch64-static", "-L", str(folder), str(folder / "usr" / "bin" / "python3")]
        model = pathlib.Path(os.environ.get("LOOM_DATA", "")) / "llm" / "SmolLM2-135M-Instruct.Q4_1.gguf"
        arguments = [str(model)] if os.environ.get("LOOM_OUTSIDE") == "whole" else []
        self.assertEqual(use(arm, library, *arguments), use([sys.executable], os.environ["WELVET_LIBRARY"], *arguments))


if __name__ == "__main__":
    for needed in sys.argv[1:3]:
        if not pathlib.Path(needed, "ready" if needed == sys.argv[1] else "").exists():
            print(f"SKIPPED: {needed} is not there")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1])
