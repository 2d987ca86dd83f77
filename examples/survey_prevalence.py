"""A crosswise survey about plagiarism: how many people to ask, the prevalence, and a regression on age.

The crosswise model: each respondent answers whether the answers to two questions are equal, a sensitive one and a
harmless one whose probability is known (here 1/4). The interviewer never learns the answer to the sensitive question.
"""

import numpy as np

from discreet import design, estimate, mechanisms

PEOPLE = 4_000


def main() -> None:
    """Plan, simulate and analyse the survey."""
    crosswise = mechanisms.BinaryResponse.crosswise("1/4")
    print(crosswise.guarantee.explain())
    needed = design.sample_size(crosswise, margin=0.03, prevalence=0.2)
    print(f"\nSample size for a margin of error of 3 percentage points: {needed:,} people\n")

    generator = np.random.default_rng(7)  # the population is simulated; the answers are randomised securely
    age = generator.integers(18, 31, PEOPLE)
    plagiarised = generator.random(PEOPLE) < 1 / (1 + np.exp(0.5 + 0.15 * (age - 18)))
    reports = crosswise.privatize(plagiarised.astype(int))

    print(estimate.frequencies(reports, crosswise))
    design_matrix = np.column_stack([np.ones(PEOPLE), age - 18])
    p00, p11 = crosswise.matrix()[0, 0], crosswise.matrix()[1, 1]
    print(estimate.binary_regression(design_matrix, reports, p00, p11, names=["intercept", "age - 18"]))


if __name__ == "__main__":
    main()
