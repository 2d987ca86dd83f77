"""Right inverses of channels: the weights that undo a randomisation on average.

A channel ``Q[t, r] = P(report r | truth t)`` has a right inverse A when ``QA = I``; then ``Σ_t A[r, t] f(t)``, read at
the report, has expectation f(truth) for every function f. There is one exactly when the rows of Q are linearly
independent, and only one when there are as many reports as truths. With more reports the best is taken, as in
generalised least squares,

    A = D⁻¹Q'(Q D⁻¹ Q')⁻¹,   D = diag(report shares),

which a pseudo-inverse (D = I) is far from: it does not know that rare reports vary less.

Columns that were randomised together have the channel ``Σ_S λ_S E_S`` over the sets S of these columns, E_S the
projection ``⊗_{i∈S}(I − J/a_i) ⊗_{i∉S} J/a_i`` for a_i values, so that

    A = Σ_S λ_S⁻¹ E_S

(Yamamoto and Shibuya 2024 for the channel). A part E_S that the function to be corrected does not have may be left
out, and its λ_S is then not needed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import NotIdentifiedError
from discreet.estimate.channels.joint import LEAST_INFORMATION
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.joint import JointResponse

#: Positions, among columns that were randomised together.
Members = tuple[int, ...]
#: An eigenvalue of one column below this leaves nothing of it: standard errors are a thousand times those of the truth.
_ERASED = 1e-3
#: A smallest singular value below this, per root of the number of entries, is rounding.
_REGULAR = 1e-10


def right_inverse(mechanism: FiniteMechanism, counts: Floats, column: str) -> Floats:
    """A with ``QA = I``, reports by truths, of least variance at the report shares that were seen.

    Parameters
    ----------
    mechanism : FiniteMechanism
    counts : array
        How often each report was seen. One is added to each: the shares only choose among unbiased corrections, and
        a report that was not seen is not impossible.
    column : str
        Its name, for messages.
    """
    try:
        inverse = mechanism.inverse.as_matrix()  # refuses truths that cannot be told apart
    except NotIdentifiedError as error:
        raise NotIdentifiedError(f'column "{column}": ', error, groups=error.groups) from None
    if inverse.shape[0] == inverse.shape[1]:
        return np.ascontiguousarray(inverse.T)
    return _least_variance(mechanism.matrix(), counts)


def _least_variance(Q: Floats, counts: Floats) -> Floats:
    """``D⁻¹Q'(QD⁻¹Q')⁻¹``, zero for reports that no truth gives."""
    possible = Q.any(axis=0)
    weighted = Q[:, possible] / (counts + 1.0)[possible]
    A = np.zeros(Q.shape[::-1])
    A[possible] = np.linalg.solve(weighted @ Q[:, possible].T, weighted).T
    return A


def told_apart(mechanism: FiniteMechanism) -> NDArray[np.intp] | None:
    """Truths whose reports differ from those of all others, where truths with equal reports can be taken as one.

    None where even then the channel does not tell them apart. A bipartite channel over numbers merges truths at both
    ends, and tells those between apart.
    """
    groups = _alike(mechanism)
    Q = mechanism.matrix()[[members[0] for members in groups]]
    if np.linalg.svd(Q, compute_uv=False)[-1] < _REGULAR * math.sqrt(Q.size) or Q.shape[0] > Q.shape[1]:
        return None
    return np.array([members[0] for members in groups if len(members) == 1], np.intp)


def merged_inverse(mechanism: FiniteMechanism, counts: Floats) -> Floats:
    """A over the truths that are :func:`told_apart`: the others, taken as one where they are alike, weigh nothing.

    ``Σ_t A[r, t] f(t)`` then has expectation f(truth) for these truths and 0 for all others.
    """
    groups = _alike(mechanism)
    A = _least_variance(mechanism.matrix()[[members[0] for members in groups]], counts)
    return A[:, [k for k, members in enumerate(groups) if len(members) == 1]]


def _alike(mechanism: FiniteMechanism) -> list[list[int]]:
    """Truths with equal rows of the channel, exactly."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for code, row in enumerate(mechanism.weights()):
        rows.setdefault(tuple(row), []).append(code)
    return list(rows.values())


def joint_inverse(
    joint: JointResponse, attributes: Sequence[int], names: Sequence[str], needed: Callable[[Members], bool]
) -> Floats:
    """``Σ_S λ_S⁻¹ E_S`` over the sets S that are needed, combined reports by combined truths.

    Parameters
    ----------
    joint : JointResponse
    attributes : sequence of int
        Which of its columns, in the order in which codes are combined, the first slowest.
    names : sequence of str
        Theirs.
    needed : function
        Whether the function to be corrected has a part on these positions.
    """
    sizes = [joint.sizes[i] for i in attributes]
    values = eigenvalues(joint, attributes)
    each = np.zeros((2,) * len(sizes))  # the entry of A for every pattern of agreement between report and truth
    for members in _subsets(len(sizes)):
        if not needed(members):
            continue
        here = tuple(int(i in members) for i in range(len(sizes)))
        _check_information(values, members, names)
        each[here] = 1.0 / values[here]
    for axis, size in enumerate(sizes):
        # E_S of one column at disagreement and agreement, without and with the column in S.
        rows = np.array([[1 / size, -1 / size], [1 / size, 1 - 1 / size]])
        each = np.moveaxis(np.tensordot(rows, each, axes=(1, axis)), 0, axis)
    codes = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    agree = tuple((codes[:, None, i] == codes[None, :, i]).astype(np.intp) for i in range(len(sizes)))
    return np.asarray(each[agree])


def eigenvalues(joint: JointResponse, attributes: Sequence[int]) -> Floats:
    """λ_S = E Π_{i∈S} χ_i for every S, indexed by which columns are in it; χ_i is 1 for a truthful report, else
    −1/(a_i − 1).
    """
    size = len(attributes)
    chances = np.array([float(one) for one in joint.pattern_chances(tuple(attributes))]).reshape((2,) * size)
    for axis, i in enumerate(attributes):
        rows = np.array([[1.0, 1.0], [-1.0 / (joint.sizes[i] - 1), 1.0]])
        chances = np.moveaxis(np.tensordot(rows, chances, axes=(1, axis)), 0, axis)
    return np.asarray(chances)


def _subsets(size: int) -> list[Members]:
    return [members for count in range(size + 1) for members in itertools.combinations(range(size), count)]


def _check_information(values: Floats, members: Members, names: Sequence[str]) -> None:
    """Refuse a part that the joint randomisation has (nearly) erased."""

    def at(chosen: Members) -> float:
        return float(values[tuple(int(i in chosen) for i in range(values.ndim))])

    found, independent = at(members), math.prod(at((i,)) for i in members)
    named = " and ".join(f'"{names[i]}"' for i in members)
    if len(members) == 1 and abs(found) < _ERASED:
        raise NotIdentifiedError(f"the joint randomisation left nothing of column {named} (λ = {found:.2g})")
    if len(members) > 1 and abs(found) < LEAST_INFORMATION * abs(independent):
        table = ", ".join(f'"{names[i]}"' for i in members)
        word = {2: "keep", 3: "triples"}.get(len(members))
        every = f', pairs = "{word}" every one like it' if word else ""
        advice = f"a plan with pairs = [[{table}]] keeps this table{every}"
        raise NotIdentifiedError(
            f"the joint randomisation left {abs(found) / abs(independent):.1%} of the information about how {named} go "
            f"together (λ = {found:.2g}, {independent:.2g} under independent randomisation), which this model needs; "
            f"{advice}, or leave one of them out"
        )
