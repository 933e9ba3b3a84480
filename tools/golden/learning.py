#!/usr/bin/env python3
"""Golden values of losses, optimisers and schedules: tests/golden/learning/{losses,optimizers,schedules}.json.

usage: learning.py OUT_DIR      (torch 2.15.0, numpy 2.4.6, transformers for inverse_sqrt; every file states the versions)

Everything is computed in f64. Inputs are exact in f32, so the same values serve both element types. PyTorch computes what it has: losses
by its functions and autograd, optimisers by 100 steps on a quadratic, schedules by stepping torch.optim.lr_scheduler. This script
implements the rest from engine 6.2 and 6.3: the 1e-10 of kl_div and crossentropy, hinge, multi-head and contrastive losses (their gradients by
autograd), lion and lbfgs (NumPy).
"""
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
import transformers

torch.set_default_dtype(torch.float64)
RANDOM = np.random.default_rng(20261122)
VERSIONS = {"torch": torch.__version__, "numpy": np.__version__, "transformers": transformers.__version__}


def exact(values):
    return torch.tensor(np.asarray(values, np.float32).astype(np.float64))


def normal(*shape):
    return exact(RANDOM.standard_normal(shape) * 1.5)


def positive(*shape):
    return exact(RANDOM.uniform(0.02, 0.98, shape))


def rows_of_one(*shape):
    return torch.softmax(normal(*shape), -1).float().double()


def flat(tensor):
    return tensor.detach().numpy().ravel().tolist()


# ---- losses ----

def loss_case(name, config, o, t, function, **more):
    """function(o, t) -> loss; t is a tensor, or None when `more` holds classes."""
    o = o.clone().requires_grad_()
    both = config.pop("both", False)
    if both:
        t = t.clone().requires_grad_()
    value = function(o, t)
    value.backward()
    case = {"name": name, "config": config, "shape": list(o.shape), "output": flat(o), "value": value.item(), "gradient": flat(o.grad)}
    if t is not None:
        case["target"] = flat(t)
    if both:
        case["target_gradient"] = flat(t.grad)
    return case | more


def multi_head(heads, classes, mask):
    def loss(o, _):
        total, first = 0, 0
        for h, size in enumerate(heads):
            p = torch.softmax(o[:, first:first + size], -1)
            q = p[torch.arange(len(o)), torch.tensor(classes)[:, h]]
            total = total - (torch.log(q + 1e-7) * torch.tensor(mask)[:, h]).sum()
            first += size
        return total / len(o)
    return loss


def contrastive(temperature):
    def loss(o, t):
        return F.cross_entropy(F.normalize(o, dim=-1) @ F.normalize(t, dim=-1).T / temperature, torch.arange(len(o)))
    return loss


def losses():
    o, t = normal(5, 19), normal(5, 19)
    p, q = positive(5, 19), positive(5, 19)
    t[0, 0] = o[0, 0]
    signs = exact(np.sign(RANDOM.standard_normal((5, 19))))
    classes = [3, 0, 18, 7, 7]
    index = torch.tensor(classes)
    weights = positive(19)
    soft = rows_of_one(5, 19)
    soft[1, 2] = 0
    dist = rows_of_one(5, 19)
    batch = torch.tensor([0.5, 2, 0, 1, 1.25])
    cases = [
        loss_case("mse", {"name": "mse"}, o, t, F.mse_loss),
        loss_case("mse_rank3", {"name": "mean_squared_error"}, normal(3, 4, 70), normal(3, 4, 70), F.mse_loss),
        loss_case("mse_weighted", {"name": "mse"}, o, t, lambda a, b: ((a - b) ** 2 * batch[:, None]).sum() / a.numel(), sample_weights=flat(batch)),
        loss_case("mae", {"name": "l1"}, o, t, F.l1_loss),
        loss_case("huber", {"name": "huber"}, o, t, F.huber_loss),
        loss_case("smooth_l1", {"name": "smooth_l1"}, o, t, F.smooth_l1_loss),
        loss_case("huber_delta", {"name": "huber", "delta": 0.4}, o, t, lambda a, b: F.huber_loss(a, b, delta=0.4)),
        loss_case("crossentropy", {"name": "crossentropy"}, p, soft, lambda a, b: -(b * torch.log(a + 1e-10)).sum() / a.numel()),
        loss_case("bce", {"name": "bce"}, p, q, F.binary_cross_entropy),
        loss_case("bce_logits", {"name": "bce_logits"}, 8 * o, q, F.binary_cross_entropy_with_logits),
        loss_case("kl_div", {"name": "kl_div"}, p, soft, lambda a, b: F.kl_div(torch.log(a + 1e-10), b, reduction="batchmean")),
        loss_case("hinge", {"name": "hinge"}, o, signs, lambda a, b: torch.clamp(1 - a * b, min=0).mean()),
        loss_case("cosine", {"name": "cosine"}, o, t, lambda a, b: (1 - F.cosine_similarity(a, b, dim=-1)).mean()),
        loss_case("cosine_far", {"name": "cosine"}, normal(3, 130), normal(3, 130), lambda a, b: (1 - F.cosine_similarity(a, b, dim=-1)).mean()),
        loss_case("ce_classes", {"name": "ce"}, o, None, lambda a, _: F.cross_entropy(a, index), classes=classes),
        loss_case("ce_soft", {"name": "cross_entropy"}, o, dist, F.cross_entropy),
        loss_case("ce_smoothing", {"name": "ce", "label_smoothing": 0.1}, o, None, lambda a, _: F.cross_entropy(a, index, label_smoothing=0.1), classes=classes),
        loss_case("ce_soft_smoothing", {"name": "ce", "label_smoothing": 0.2}, o, dist, lambda a, b: F.cross_entropy(a, b, label_smoothing=0.2)),
        loss_case("ce_weights", {"name": "ce", "class_weights": flat(weights)}, o, None, lambda a, _: F.cross_entropy(a, index, weights), classes=classes),
        loss_case("ce_soft_weights", {"name": "ce", "class_weights": flat(weights)}, o, dist, lambda a, b: F.cross_entropy(a, b, weights)),
        loss_case("ce_ignore", {"name": "ce", "ignore_index": 7}, o, None, lambda a, _: F.cross_entropy(a, index, ignore_index=7), classes=classes),
        loss_case("ce_all", {"name": "softmax_crossentropy", "ignore_index": 7, "label_smoothing": 0.3, "class_weights": flat(weights)}, o, None,
                  lambda a, _: F.cross_entropy(a, index, weights, ignore_index=7, label_smoothing=0.3), classes=classes),
        loss_case("ce_large_logits", {"name": "ce"}, exact(60 * o), None, lambda a, _: F.cross_entropy(a, index), classes=classes),
        loss_case("contrastive", {"name": "contrastive", "both": True}, o, t, contrastive(0.07)),
        loss_case("info_nce", {"name": "info_nce", "temperature": 0.5}, normal(70, 3), normal(70, 3), contrastive(0.5)),
    ]
    heads, picks = [4, 9, 6], RANDOM.integers(0, 4, (5, 3)).tolist()
    mask = [[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 0]]
    one = [[1] * 3] * 5
    hot = torch.cat([F.one_hot(torch.tensor(picks)[:, h], size) for h, size in enumerate(heads)], -1).double()
    spec = {"name": "multi_head_softmax_ce", "heads": heads}
    every = [c for row in picks for c in row]
    cases += [
        loss_case("heads", dict(spec), o, None, multi_head(heads, picks, one), classes=every),
        loss_case("heads_one_hot", dict(spec), o, hot, multi_head(heads, picks, one)),
        loss_case("heads_mask", dict(spec), o, None, multi_head(heads, picks, mask), classes=every, mask=[m for row in mask for m in row]),
    ]
    return cases


# ---- optimisers: w after 100 steps on f(w) = sum a (w - b)^2 / 2 ----

CURVES = [0.5, 1.0, 2.0, 0.25, 3.0, 1.5]
CENTRES = [1.0, -2.0, 0.5, 3.0, 0.0, -0.75]
START = [0.0, 0.5, -1.0, 2.0, 1.5, 0.25]
STEPS = 100


def quadratic(make, rate):
    a, b = torch.tensor(CURVES), torch.tensor(CENTRES)
    w = torch.tensor(START).requires_grad_()
    optimizer = make([w], rate)
    for _ in range(STEPS):
        w.grad = (a * (w - b)).detach()
        optimizer.step()
    return flat(w)


def lion(rate, b1, b2, decay):
    a, b, w, m = np.array(CURVES), np.array(CENTRES), np.array(START), np.zeros(len(START))
    for _ in range(STEPS):
        g = a * (w - b)
        w = w - rate * (np.sign(b1 * m + (1 - b1) * g) + decay * w)
        m = b2 * m + (1 - b2) * g
    return w.tolist()


def rosenbrock(w):
    x, y = w[:-1], w[1:]
    g = np.zeros_like(w)
    g[:-1] = -400 * x * (y - x * x) - 2 * (1 - x)
    g[1:] += 200 * (y - x * x)
    return float(np.sum(100 * (y - x * x) ** 2 + (1 - x) ** 2)), g


def lbfgs(steps, history):
    w, pairs, path = np.array([-1.2, 1.0, 0.5, -0.7]), [], []
    for _ in range(steps):
        loss, g = rosenbrock(w)
        q, alphas = g.copy(), []
        for s, y in reversed(pairs):
            alphas.append(s @ q / (s @ y))
            q = q - alphas[-1] * y
        if pairs:
            s, y = pairs[-1]
            q = q * (s @ y / (y @ y))
        for (s, y), alpha in zip(pairs, reversed(alphas)):
            q = q + (alpha - y @ q / (s @ y)) * s
        step, moved = 1.0, None
        for _ in range(20):
            moved = w - step * q
            if rosenbrock(moved)[0] <= loss - 1e-4 * step * (g @ q):
                break
            step /= 2
        else:
            raise RuntimeError("no step")
        s, y = moved - w, rosenbrock(moved)[1] - g
        if s @ y > 1e-10:
            pairs = (pairs + [(s, y)])[-history:]
        w = moved
        path.append([rosenbrock(w)[0]] + w.tolist())
    return path


def optimizers():
    O = torch.optim
    table = [
        ("sgd", {"name": "sgd"}, 0.1, O.SGD, {}),
        ("sgd_decay", {"name": "sgd", "weight_decay": 0.05}, 0.1, O.SGD, {"weight_decay": 0.05}),
        ("sgd_momentum", {"name": "sgd", "momentum": 0.9}, 0.02, O.SGD, {"momentum": 0.9}),
        ("sgd_dampening", {"name": "sgd", "momentum": 0.8, "dampening": 0.3}, 0.05, O.SGD, {"momentum": 0.8, "dampening": 0.3}),
        ("sgd_nesterov", {"name": "sgd", "momentum": 0.9, "nesterov": True}, 0.02, O.SGD, {"momentum": 0.9, "nesterov": True}),
        ("adam", {"name": "adam"}, 0.05, O.Adam, {}),
        ("adam_decay", {"name": "adam", "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-6}, 0.05, O.Adam,
         {"weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6}),
        ("adam_amsgrad", {"name": "adam", "amsgrad": True}, 0.05, O.Adam, {"amsgrad": True}),
        ("adamw", {"name": "adamw"}, 0.05, O.AdamW, {}),
        ("adamw_amsgrad", {"name": "adamw", "amsgrad": True, "weight_decay": 0.2}, 0.05, O.AdamW, {"amsgrad": True, "weight_decay": 0.2}),
        ("rmsprop", {"name": "rmsprop"}, 0.01, O.RMSprop, {}),
        ("rmsprop_momentum", {"name": "rmsprop", "momentum": 0.5, "weight_decay": 0.05}, 0.01, O.RMSprop, {"momentum": 0.5, "weight_decay": 0.05}),
        ("rmsprop_centered", {"name": "rmsprop", "centered": True, "momentum": 0.3, "alpha": 0.9}, 0.001, O.RMSprop,
         {"centered": True, "momentum": 0.3, "alpha": 0.9}),
        ("adagrad", {"name": "adagrad"}, 0.3, O.Adagrad, {}),
        ("adagrad_decay", {"name": "adagrad", "weight_decay": 0.1}, 0.3, O.Adagrad, {"weight_decay": 0.1}),
    ]
    cases = [{"name": n, "config": c, "rate": r, "after": quadratic(lambda w, lr, k=k, m=m: m(w, lr=lr, **k), r)} for n, c, r, m, k in table]
    cases += [{"name": "lion", "config": {"name": "lion"}, "rate": 0.01, "after": lion(0.01, 0.9, 0.99, 0)},
              {"name": "lion_decay", "config": {"name": "lion", "beta1": 0.95, "beta2": 0.98, "weight_decay": 0.1}, "rate": 0.01,
               "after": lion(0.01, 0.95, 0.98, 0.1)}]
    return {"curves": CURVES, "centres": CENTRES, "start": START, "steps": STEPS, "cases": cases,
            "lbfgs": [{"history": 10, "path": lbfgs(25, 10)}, {"history": 2, "path": lbfgs(25, 2)}]}


# ---- schedules: the rates of steps 0, 1, 2 ... ----

def rates(scheduler, count, lr=0.1):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
    made, out = scheduler(optimizer), []
    for _ in range(count):
        out.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        made.step()
    return out


def plateau(metrics, lr=0.1, **config):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
    scheduler, out = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, eps=0, **config), []
    for m in metrics:
        scheduler.step(m)
        out.append(float(optimizer.param_groups[0]["lr"]))
    return out


def schedules():
    S = torch.optim.lr_scheduler
    lr, n = 0.1, 60
    metrics = [2.0, 1.5, 1.5, 1.49999, 1.6, 1.4, 1.4, 1.4, 1.4, 1.4, 1.4, 1.3, 1.35, 1.31, 1.3, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2]
    table = [
        ({"name": "constant"}, lambda o: S.ConstantLR(o, 1.0)),
        ({"name": "step", "size": 7, "gamma": 0.5}, lambda o: S.StepLR(o, 7, 0.5)),
        ({"name": "multi_step", "milestones": [5, 9, 9, 30], "gamma": 0.3}, lambda o: S.MultiStepLR(o, [5, 9, 9, 30], 0.3)),
        ({"name": "exponential", "gamma": 0.93}, lambda o: S.ExponentialLR(o, 0.93)),
        ({"name": "linear", "start_factor": 0.2, "end_factor": 0.9, "total": 40}, lambda o: S.LinearLR(o, 0.2, 0.9, 40)),
        ({"name": "polynomial", "power": 1.7, "total": 40}, lambda o: S.PolynomialLR(o, 40, 1.7)),
        ({"name": "cosine", "total": 59, "min": 0.003}, lambda o: S.CosineAnnealingLR(o, 59, 0.003)),
        ({"name": "cosine_restarts", "first_cycle": 5, "cycle_mult": 2, "min": 0.001}, lambda o: S.CosineAnnealingWarmRestarts(o, 5, 2, 0.001)),
        ({"name": "cosine_restarts", "first_cycle": 8}, lambda o: S.CosineAnnealingWarmRestarts(o, 8)),
        ({"name": "one_cycle", "max": 0.4, "total": n + 1}, lambda o: S.OneCycleLR(o, 0.4, total_steps=n + 1)),
        ({"name": "one_cycle", "max": 0.4, "total": n + 1, "pct": 0.55, "div": 10, "final_div": 50},
         lambda o: S.OneCycleLR(o, 0.4, total_steps=n + 1, pct_start=0.55, div_factor=10, final_div_factor=50)),
        ({"name": "cyclic", "base": 0.01, "max": 0.2, "up": 4, "down": 9}, lambda o: S.CyclicLR(o, 0.01, 0.2, 4, 9, cycle_momentum=False)),
        ({"name": "cyclic", "base": 0.01, "max": 0.2, "up": 6, "down": 6, "cyclic_mode": "triangular2"},
         lambda o: S.CyclicLR(o, 0.01, 0.2, 6, mode="triangular2", cycle_momentum=False)),
        ({"name": "cyclic", "base": 0.01, "max": 0.2, "up": 5, "down": 3, "cyclic_mode": "exp_range", "gamma": 0.97},
         lambda o: S.CyclicLR(o, 0.01, 0.2, 5, 3, mode="exp_range", gamma=0.97, cycle_momentum=False)),
        ({"name": "inverse_sqrt", "warmup": 12}, lambda o: transformers.get_inverse_sqrt_schedule(o, 12)),
        ({"name": "exponential", "gamma": 0.9, "warmup_steps": 10, "warmup_factor": 0.25},
         lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.25, 1.0, 10), S.ExponentialLR(o, 0.9)], [10])),
    ]
    cases = [{"config": config | {"learning_rate": lr}, "rates": rates(make, n)} for config, make in table]
    plateaus = [{"config": {"name": "plateau", "learning_rate": lr} | mine, "metrics": metrics, "rates": plateau(metrics, **theirs)} for mine, theirs in [
        ({"patience": 2}, {"patience": 2}),
        ({"patience": 1, "factor": 0.5, "cooldown": 2, "min": 0.02}, {"patience": 1, "factor": 0.5, "cooldown": 2, "min_lr": 0.02}),
        ({"patience": 3, "factor": 0.5, "higher_is_better": True}, {"patience": 3, "factor": 0.5, "mode": "max"})]]
    return {"cases": cases, "plateaus": plateaus}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, content in [("losses", {"cases": losses()}), ("optimizers", optimizers()), ("schedules", schedules())]:
        content = {"made_by": "tools/golden/learning.py", "versions": VERSIONS} | content
        lines = [f"{json.dumps(key)}: " + (("[\n" + ",\n".join(json.dumps(item) for item in value) + "\n]")
                                          if value and isinstance(value, list) and isinstance(value[0], dict) else json.dumps(value))
                 for key, value in content.items()]
        (out / f"{name}.json").write_text("{" + ",\n".join(lines) + "}\n")


main()
