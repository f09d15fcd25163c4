#!/usr/bin/env python3
"""Epochs of a small net on two moons, with capball's layers and with plain torch operations in their place, taking turns.

    build/python-full/bin/python bench/bench_moons.py [epochs, default 40]

Forward, backward and a step of Adam for batches of 100 of 10,000 points; the best epoch of each. The last columns are plain over
capball, of the best epochs and the median of the epochs that followed one another: above 1, capball is faster."""
import statistics
import sys
import time

try:
    import torch

    import capball.torch as layers
except ImportError:
    print("skipped: this Python has no torch with capball; tools/test-python full makes one in build/python-full")
    raise SystemExit(0)

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
torch.set_num_threads(1)


class Plain(layers.Sphere):
    def forward(self, x):
        s, n = self.t.exp(), (x * x).sum(-1, keepdim=True)
        q = n + s * s
        return torch.cat([x * (2 * s / q), (s * s - n) / q], dim=-1)


def moons(n):
    turn = torch.rand(n // 2) * torch.pi
    x = torch.cat([torch.stack([torch.cos(turn), torch.sin(turn)], 1), torch.stack([1 - torch.cos(turn), 0.5 - torch.sin(turn)], 1)])
    return x + 0.1 * torch.randn_like(x), torch.arange(n) >= n // 2


def epoch(net, optimizer, x, y, order):
    began = time.perf_counter()
    for batch in order.split(100):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(net(x[batch])[:, 0], y[batch]).backward()
        optimizer.step()
    return time.perf_counter() - began


torch.manual_seed(0)
x, y = moons(10000)
y = y.float()
print(f"capball {layers.capball.__version__}, torch {torch.__version__}, one thread")
for widths in ((2, 8), (64, 64)):
    nets, took = [], [[], []]
    for kind in (layers.Sphere, Plain):
        torch.manual_seed(1)
        nets.append(torch.nn.Sequential(torch.nn.Linear(2, widths[0]), kind(), layers.CapLinear(*widths), torch.nn.Tanh(), torch.nn.Linear(widths[1], 1)))
    optimizers = [torch.optim.Adam(net.parameters(), lr=0.01) for net in nets]
    for turn in range(EPOCHS):
        order = torch.randperm(len(x))
        for i in (0, 1) if turn % 2 else (1, 0):
            took[i].append(epoch(nets[i], optimizers[i], x, y, order))
    best, median = [min(some) for some in took], statistics.median(plain / ours for ours, plain in zip(*took))
    right = [float(((net(x)[:, 0] > 0) == (y > 0.5)).float().mean()) for net in nets]
    print(f"{widths[0]:3d} columns on the sphere, {widths[1]:3d} units: capball {best[0] * 1e3:7.1f} ms ({right[0]:.1%} right), "
          f"plain torch {best[1] * 1e3:7.1f} ms ({right[1]:.1%} right), ratio {best[1] / best[0]:.2f}, "
          f"median {median:.2f}")
