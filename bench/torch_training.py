"""Steps of training beside PyTorch, interleaved, in f32:
    python bench/torch_training.py [--threads N] [--program BENCH_TRAINING] [--rounds N] [--table FILE] [--card] [PART_OF_NAME]

A row of bench/training.json is a layer's spec, its input and an optimiser; rows without one are single forwards. A step is forward, loss, backward and
update from a batch in memory. PyTorch runs it as its tutorials do (eager, the optimiser's default implementation), and with its
fused optimisers, which is the second ratio. Above 1: Loom is faster. With --card both compute on a graphics card, PyTorch by CUDA without TF32; the batch
is copied from the host in each step of Loom's and is already on the card in PyTorch's.
"""
import argparse

import torch
from torch import nn

from beside import joined, loom_lines, program, table, timed
from torch_layers import modules

SECONDS = 0.4  # per row and round


class Added(nn.Module):
    """A residual sequence."""

    def __init__(self, spec):
        super().__init__()
        self.inner = network(spec["sequential_layers"])

    def forward(self, x):
        return x + self.inner(x)


def network(layers):
    return nn.Sequential(*[m for spec in layers for m in ([Added(spec)] if spec.get("residual") else modules(spec))])


def step_of(row, fused, device):
    module = network(row["layer"]["sequential_layers"]).to(device)
    x = torch.rand(row["x"], device=device) - 0.5
    if "optimizer" not in row:
        module.eval()

        def forward():
            with torch.inference_mode():
                module(x)
        return forward
    settings = {k: v for k, v in row["optimizer"].items() if k != "name"}
    optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[row["optimizer"]["name"]](module.parameters(), lr=1e-3, fused=fused, **settings)
    with torch.no_grad():
        y = module(x)
    target = torch.randint(row["classes"], y.shape[:-1], device=device).flatten() if "classes" in row else torch.rand_like(y)

    def step():
        optimizer.zero_grad(set_to_none=True)
        y = module(x)
        loss = nn.functional.cross_entropy(y.flatten(0, -2), target) if "classes" in row else nn.functional.mse_loss(y, target)
        loss.backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=program("bench_training"))
    parser.add_argument("--table", default="training.json")
    parser.add_argument("--card", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.backends.cudnn.allow_tf32 = False
    ours, theirs = ("gpu", "cuda") if options.card else ("cpu", "cpu")
    print(f"{'us, least and median':42}{'Loom':>20}{'PyTorch ' + torch.__version__:>22}{'least':>8}{'median':>8}{'fused':>20}{'least':>8}{'median':>8}")
    for row in table(options.table):
        if options.part not in row["name"] or (options.card and "optimizer" not in row):
            continue
        mine, eager, fused = [], [], []
        steps = step_of(row, False, theirs), step_of(row, True, theirs)
        for _ in range(options.rounds):
            lines = loom_lines(options.program, options.table, row["name"], SECONDS, options.threads, ours)
            mine += [tuple(line[1:]) for line in lines if line[0] == row["name"]]
            eager.append(timed(steps[0], SECONDS))
            fused.append(timed(steps[1], SECONDS))
        a, b, c = joined(mine), joined(eager), joined(fused)
        print(f"{row['name']:42}{a[0]:10.1f}{a[1]:10.1f}{b[0]:11.1f}{b[1]:11.1f}{b[0] / a[0]:8.2f}{b[1] / a[1]:8.2f}"
              f"{c[0]:10.1f}{c[1]:10.1f}{c[0] / a[0]:8.2f}{c[1] / a[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
