#!/usr/bin/env python3
"""bench/layer_tasks.py: six small tasks with SphereCapLinear as the last layer, beside Linear, RBF and prototype layers.

  bench/layer_tasks.py [--seeds 5] [--task NAME]

The network before the last layer, its training and the number of its numbers are the same for all; the last layers have (d+1) k
numbers (a cap, one more for its scale; Linear), (d+2) k (RBF: centre, width, offset) and d k + 1 (prototypes). Features are
normalised by a BatchNorm1d without numbers of its own. Where rows of no class are to be found, all layers are trained one class
against the rest, and a row is as strange as its largest value is small: for caps, how far it is outside of every ball.
Mean and standard deviation over seeds; a layer is bold where no other one is ahead by more than the standard error of the difference.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score
from torch import nn

from capball.torch import SphereCapLinear

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


class RBF(nn.Module):
    """b - g |x-c|^2 for each class."""

    def __init__(self, d, k):
        super().__init__()
        self.c, self.g, self.b = nn.Parameter(0.5 * torch.randn(k, d)), nn.Parameter(torch.full((k,), -np.log(d))), nn.Parameter(torch.ones(k))

    def forward(self, x):
        return self.b - self.g.exp() * torch.cdist(x, self.c).square()


class Prototypes(nn.Module):
    """h - |x-c|^2/d for each class, h common to all."""

    def __init__(self, d, k):
        super().__init__()
        self.c, self.h = nn.Parameter(0.5 * torch.randn(k, d)), nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.h - torch.cdist(x, self.c).square() / x.shape[1]


class Caps(nn.Module):
    """sqrt(d) (<w,S(x)> + b): points of the sphere are shorter than features by this factor, which is not learned."""

    def __init__(self, d, k):
        super().__init__()
        self.layer, self.factor = SphereCapLinear(d, k, s=d**0.5), d**0.5

    def forward(self, x):
        return self.factor * self.layer(x)


HEADS = {"SphereCapLinear": Caps, "Linear": nn.Linear, "RBF": RBF, "prototypes": Prototypes}


def network(sizes, classes, head):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    layers = layers[:-1]  # features have both signs
    return nn.Sequential(*layers, nn.BatchNorm1d(sizes[-1], affine=False), HEADS[head](sizes[-1], classes))


def trained(net, x, y, epochs, batch=128, rate=3e-3, one_vs_rest=False, only=None):
    groups = list((net if only is None else only).parameters())
    adam = torch.optim.Adam(groups, rate)
    steps = epochs * -(-len(x) // batch)
    plan = torch.optim.lr_scheduler.OneCycleLR(adam, 4 * rate, total_steps=steps)
    hot = nn.functional.one_hot(y).float()
    net.train()
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for at in range(0, len(x), batch):
            rows = order[at : at + batch]
            if len(rows) < 2:
                plan.step()
                continue
            f = net(x[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(f, hot[rows]) if one_vs_rest else nn.functional.cross_entropy(f, y[rows])
            adam.zero_grad()
            loss.backward()
            adam.step()
            plan.step()
    net.eval()
    return net


@torch.no_grad()
def accuracy(net, x, y):
    return 100 * float((net(x).argmax(dim=1) == y).float().mean())


@torch.no_grad()
def found(net, known, unknown):
    """AUROC of rows of no class among others."""
    values = torch.cat([net(known), net(unknown)]).amax(dim=1).numpy()
    return 100 * roc_auc_score(np.repeat([0, 1], [len(known), len(unknown)]), -values)


def tensors(x, y):
    return torch.as_tensor(np.asarray(x), dtype=torch.float32), torch.as_tensor(np.asarray(y), dtype=torch.long)


def images(name, most, queries=False):
    part = "queries" if queries else "base"
    labels = "query_labels" if queries else "base_labels"
    x = np.load(SHARED / name / f"{part}.npy", mmap_mode="r")[:most]
    return tensors(np.asarray(x, np.float32) / 255, np.load(SHARED / name / f"{labels}.npy")[:most])


def spirals(rng, n):
    turn = np.sqrt(rng.random(n)) * 3 * np.pi
    y = rng.integers(2, size=n)
    side = np.where(y == 1, 1, -1)[:, None]
    x = side * np.stack([turn * np.cos(turn), turn * np.sin(turn)], axis=1) / 5 + rng.normal(size=(n, 2)) * 0.08
    return tensors(x, y)


def task_spirals(head, seed):
    rng = np.random.default_rng(seed)
    (x, y), test = spirals(rng, 600), spirals(rng, 2000)
    return accuracy(trained(network([2, 16, 8], 2, head), x, y, 150, batch=64, rate=5e-3), *test)


def task_tabular(head, seed):
    """magic-gamma, or breast cancer where it is not there."""
    try:
        x, y = np.load(SHARED / "outlier-magic-gamma" / "base.npy"), np.load(SHARED / "outlier-magic-gamma" / "labels.npy")
    except FileNotFoundError:
        x, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))[:6000]
    x, y = tensors((x - x.mean(axis=0)) / x.std(axis=0), y)
    train, test = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
    return accuracy(trained(network([x.shape[1], 16, 8], 2, head), x[train], y[train], 30), x[test], y[test])


def task_mnist(head, seed):
    (x, y), test = images("mnist-784-euclidean", 4000), images("mnist-784-euclidean", 1000, queries=True)
    return accuracy(trained(network([784, 48, 12], 10, head), x, y, 8), *test)


def task_few(head, seed):
    """Features of the digits 0 to 4, then a new last layer from 5 rows each of 5 to 9."""
    x, y = images("mnist-784-euclidean", 4000)
    first = y < 5
    net = trained(network([784, 48, 12], 5, head), x[first], y[first], 8)
    rng = np.random.default_rng(seed)
    others = np.flatnonzero(~first.numpy())
    shots = np.concatenate([rng.choice(others[y[others].numpy() == c], 5, replace=False) for c in range(5, 10)])
    rest = np.setdiff1d(others, shots)
    with torch.no_grad():
        features = net[:-1](x)
    last = HEADS[head](12, 5)
    trained(last, features[shots], y[shots] - 5, 100, batch=25, rate=1e-2)
    return accuracy(last, features[rest], y[rest] - 5)


def task_open(head, seed):
    """The digits 0 to 5 are classes, 6 to 9 are none."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = tensors(x[order] / 16, y[order])
    known = y < 6
    rows, labels = x[known], y[known]
    cut = 2 * len(rows) // 3
    net = trained(network([64, 32, 8], 6, head), rows[:cut], labels[:cut], 40, batch=64, one_vs_rest=True)
    return found(net, rows[cut:], x[~known])


def task_ood(head, seed):
    """Trained on digits, asked about clothes."""
    x, y = images("mnist-784-euclidean", 4000)
    net = trained(network([784, 48, 12], 10, head), x, y, 8, one_vs_rest=True)
    return found(net, images("mnist-784-euclidean", 1000, queries=True)[0], images("fashion-mnist-784-euclidean", 1000, queries=True)[0])


TASKS = {"open-set digits, AUROC": task_open, "tabular, accuracy": task_tabular, "two spirals, accuracy": task_spirals,
         "MNIST, accuracy": task_mnist, "5 shots, accuracy": task_few, "clothes among digits, AUROC": task_ood}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--task", help="a part of the name of one")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| task | " + " | ".join(HEADS) + " | seconds |\n|---|" + "---|" * (len(HEADS) + 1))
    for name, task in TASKS.items():
        if given.task and given.task not in name:
            continue
        start, results = time.perf_counter(), []
        try:
            for head in HEADS:
                results.append([])
                for seed in range(given.seeds):
                    torch.manual_seed(seed)
                    results[-1].append(task(head, seed))
        except FileNotFoundError as missing:
            print(f"| {name} | left out: {missing.filename} is not there |")
            continue
        table = np.array(results)
        means, deviations = table.mean(axis=1), table.std(axis=1, ddof=min(1, given.seeds - 1))
        best = int(means.argmax())
        error = (table[best] - table).std(axis=1, ddof=min(1, given.seeds - 1)) / given.seeds**0.5
        bold = ["**" if means[best] - mean <= e else "" for mean, e in zip(means, error)]
        cells = [f"{b}{m:.1f} ± {s:.1f}{b}" for b, m, s in zip(bold, means, deviations)]
        print(f"| {name} | " + " | ".join(cells) + f" | {time.perf_counter() - start:.0f} |", flush=True)


main()
