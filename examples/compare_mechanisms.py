"""Mechanisms for five ordered values at the same ε: the exact ε of each, and what they are good at."""

from discreet import Ordinal, design, privacy
from discreet.mechanisms import BipartiteResponse, GeneralizedResponse

EPSILON, VALUES = 1.0, 5


def main() -> None:
    """Print certified levels and a comparison of all mechanisms for the domain."""
    for name, mechanism in {
        "generalised response": GeneralizedResponse(VALUES, EPSILON),
        "bipartite response": BipartiteResponse(VALUES, 3, EPSILON),
    }.items():
        certificate = privacy.certify(mechanism)
        print(f"{name}: ε = {certificate.epsilon:.12f}, δ(0.5) = {certificate.delta(0.5):.4f}")
    print()
    print(design.compare(Ordinal(range(VALUES)), EPSILON, 10_000))


if __name__ == "__main__":
    main()
