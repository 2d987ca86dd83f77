"""Right inverses: exact, of least variance, and refused where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import NotIdentifiedError, design
from discreet.estimate.channels.right_inverse import eigenvalues, joint_inverse, right_inverse
from discreet.mechanisms import ChannelResponse, GeneralizedResponse


def every(_):
    """All parts are needed."""
    return True


def test_more_reports_than_truths():
    """QA = I, and the variance is below that of a pseudo-inverse and of uniform weights."""
    mechanism = design.binary(0.5, 0.1, 0.25, reports=4).mechanism
    Q = mechanism.matrix()
    f = np.array([0.75, 0.25])
    shares = f @ Q
    A = right_inverse(mechanism, 1e6 * shares, "x")
    assert np.allclose(Q @ A, np.eye(2), atol=1e-12)

    def variance(weights):
        return shares @ weights[:, 1] ** 2 - f[1] ** 2

    pseudo = np.linalg.pinv(Q)
    uniform = mechanism.inverse.as_matrix().T
    found = [variance(one) for one in (A, uniform, pseudo)]
    assert np.allclose(found, [1.329, 1.561, 3.234], atol=1e-3)


def test_a_report_that_no_truth_gives_and_one_that_nobody_gave():
    """Neither breaks the inverse."""
    mechanism = ChannelResponse([["1/2", "1/4", "0", "1/4"], ["1/4", "1/4", "0", "1/2"]])
    A = right_inverse(mechanism, np.array([10.0, 0.0, 0.0, 4.0]), "x")
    assert np.allclose(mechanism.matrix() @ A, np.eye(2), atol=1e-12)


def test_truths_that_look_alike_are_refused_by_column():
    """One sentence names the column and the values."""
    mechanism = ChannelResponse([["1/2", "1/2"], ["1/2", "1/2"]])
    with pytest.raises(NotIdentifiedError, match=r'column "smokes".*0, 1'):
        right_inverse(mechanism, np.ones(2), "smokes")


@pytest.mark.parametrize("attributes", [(0,), (2, 0), (0, 1, 2), (3, 1, 2)])
def test_joint_inverse_is_the_inverse_of_the_joint_channel(attributes):
    """Against numpy's inverse of the matrix written out; the eigenvalues against those of the view."""
    joint = design.attributes([3, 4, 2, 2], [1.0, 2.0, 0.5, 1.5]).mechanism
    view = joint.view(*attributes)
    A = joint_inverse(joint, attributes, "abcd", every)
    assert np.allclose(A, np.linalg.inv(view.matrix()), rtol=1e-8, atol=1e-8)
    values = eigenvalues(joint, attributes)
    for members, value in view.eigenvalues.items():
        assert np.isclose(values[tuple(int(i in members) for i in range(values.ndim))], value, atol=1e-12)


def test_independent_randomisation_gives_the_kronecker_product():
    """A product law is undone column by column."""
    joint = design.attributes([3, 2], [1.0, 0.7], method="kronecker").mechanism
    single = [GeneralizedResponse(3, 1.0).inverse.as_matrix().T, GeneralizedResponse(2, 0.7).inverse.as_matrix().T]
    A = joint_inverse(joint, (0, 1), "ab", every)
    assert np.allclose(A, np.kron(*single), rtol=1e-6)


def test_an_erased_association_is_refused_by_name_unless_it_is_not_needed():
    """Three yes/no attributes at .5, free: a majority vote, whose pairs are gone."""
    joint = design.attributes([2, 2, 2], [0.5, 0.5, 0.5], pairs="free").mechanism
    with pytest.raises(NotIdentifiedError, match=r'"drinks" and "smokes".*λ = .*pairs = "keep"'):
        joint_inverse(joint, (0, 1), ["drinks", "smokes"], every)
    A = joint_inverse(joint, (0, 1), ["drinks", "smokes"], lambda members: len(members) < 2)
    # Still right for functions of one column at a time.
    Q = joint.view(0, 1).matrix()
    f = np.add.outer([0.3, -1.0], [2.0, 0.5]).ravel()
    assert np.allclose(Q @ A @ f, f)
