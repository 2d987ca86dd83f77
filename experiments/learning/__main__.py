"""A network on Adult with labels at ε = 1: the likelihood through the channel beside an uncorrected loss and true
labels.
"""

from __future__ import annotations

import sys

import numpy as np

from discreet import Randomness
from discreet.learning.losses.pytorch import label_loss
from discreet.mechanisms import GeneralizedResponse
from experiments.learning.tables import WHERE, adult, folder, has

EPSILON, STEPS, BATCH = 1.0, 1500, 1024


def main() -> int:
    """Train three networks and print their log losses and accuracies on the published test part."""
    data = folder()
    if data is None or not has("adult.parquet"):
        print(f"SKIPPED: {WHERE}")
        return 0
    import torch

    torch.set_num_threads(1)
    people = adult(data)
    features = torch.tensor(people.design[:, 1:], dtype=torch.float32)
    train, truth = torch.tensor(people.train), torch.tensor(people.outcome)
    channel = GeneralizedResponse(2, EPSILON)
    reports = torch.tensor(channel.privatize(people.outcome, Randomness.seeded(1)).astype(np.int64))
    plain = torch.nn.functional.cross_entropy
    for name, loss, labels in (
        ("true labels", plain, truth),
        ("reports, uncorrected", plain, reports),
        ("reports, likelihood", label_loss(channel), reports),
    ):
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(features.shape[1], 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
        steps = torch.optim.Adam(network.parameters(), 0.003, weight_decay=3e-3)
        rows = torch.nonzero(train)[:, 0]
        for _ in range(STEPS):
            batch = rows[torch.randint(len(rows), (BATCH,))]
            steps.zero_grad()
            loss(network(features[batch]), labels[batch]).backward()
            steps.step()
        with torch.no_grad():
            found = network(features[~train])
            right = (found.argmax(1) == truth[~train]).float().mean()
            print(f"{name:22} log loss {float(plain(found, truth[~train])):.4f}  accuracy {float(right):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
