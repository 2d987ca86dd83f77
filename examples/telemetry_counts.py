"""Which of 1,000 pages do people open? Each device sends one randomised integer."""

import numpy as np

from discreet import design, estimate

PAGES, DEVICES = 1_000, 200_000


def main() -> None:
    """Design a mechanism for many values, randomise on the devices, estimate the most frequent pages."""
    best = design.frequencies(PAGES, epsilon=2.0)
    print(best, "\n")
    generator = np.random.default_rng(3)
    share = 1 / np.arange(1, PAGES + 1) ** 1.1
    opened = generator.choice(PAGES, DEVICES, p=share / share.sum())  # never leaves the devices
    reports = best.mechanism.privatize(opened)
    print(estimate.frequencies(reports, best.mechanism).top(8))


if __name__ == "__main__":
    main()
