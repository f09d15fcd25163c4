"""Job: "a layer whose units are balls." From the words of its tutorial alone."""

import importlib.util
import sys

if importlib.util.find_spec("torch") is None:
    print("torch is not installed")
    sys.exit(77)

import numpy as np
import torch

import capball
from capball.torch import CapLinear, Sphere

torch.manual_seed(0)
rng = np.random.default_rng(0)
x = torch.tensor(rng.uniform(-2, 2, size=(800, 2)), dtype=torch.float32)
y = ((x - torch.tensor([0.5, 0.0])).norm(dim=1) < 1).float()[:, None]  # inside a disc
net = torch.nn.Sequential(Sphere(s=1.0), CapLinear(2, 1))
optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(300):
    optimiser.zero_grad()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x), y)
    loss.backward()
    optimiser.step()
accuracy = float(((net(x) > 0) == (y > 0)).float().mean())
(ball,) = net[1].regions(net)
print(f"accuracy {accuracy:.3f}: {ball}")
assert accuracy > 0.97
assert np.linalg.norm(ball.c - [0.5, 0.0]) < 0.15 and abs(ball.r - 1) < 0.15
assert np.mean((ball.scores(x.double().numpy()) >= 0) == (net(x).detach().numpy()[:, 0] >= 0)) > 0.995
same = capball.ball_of(net)
assert np.allclose(same.c, ball.c) and np.isclose(same.r, ball.r)
