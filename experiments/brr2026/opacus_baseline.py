"""Softmax regression on MNIST by central DP-SGD, with Opacus in an environment of its own; prints JSON.

``python opacus_baseline.py mnist_10k_2k.npz 1.0 3.0``: accuracies at these ε, δ = 1e-5 (pip install opacus).
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine

warnings.simplefilter("ignore")
EPOCHS, BATCH, DELTA = 10, 200, 1e-5


def accuracy(file: np.lib.npyio.NpzFile, epsilon: float) -> float:
    """Of one fit."""
    torch.manual_seed(0)
    X, test = (
        torch.tensor(file[n].reshape(len(file[n]), -1) / 255.0, dtype=torch.float32) for n in ("x_train", "x_test")
    )
    y, truth = (torch.tensor(file[n].astype(np.int64)) for n in ("y_train", "y_test"))
    model = torch.nn.Linear(784, 10)
    steps = torch.optim.SGD(model.parameters(), 0.5)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), batch_size=BATCH)
    model, steps, loader = PrivacyEngine(secure_mode=False).make_private_with_epsilon(
        module=model, optimizer=steps, data_loader=loader, epochs=EPOCHS, target_epsilon=epsilon, target_delta=DELTA,
        max_grad_norm=1.0,
    )  # fmt: skip
    for _ in range(EPOCHS):
        for inputs, labels in loader:
            steps.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            steps.step()
    return float((model(test).argmax(1) == truth).float().mean())


if __name__ == "__main__":
    with np.load(sys.argv[1]) as images:
        print(json.dumps({epsilon: accuracy(images, float(epsilon)) for epsilon in sys.argv[2:]}))
