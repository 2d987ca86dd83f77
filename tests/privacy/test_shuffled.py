"""The guarantee of a shuffled file: published figures, never below what enumeration gives, and clear refusals."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from experiments.shuffled.exact import (
    exact_binary_epsilon,
    exact_blanket,
    exact_delta,
    random_channel,
)

from discreet import PrivacyError, Randomness, design, privacy
from discreet.errors import InputError
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse, JointResponse
from discreet.mechanisms.joint import ProductLaw
from discreet.privacy.mean_excess import mean_excess
from discreet.privacy.shuffled import universal_law
from tests.mechanisms.catalogue import FINITE, RECORDS

PEOPLE = (300, 1_000, 10_000, 100_000, 1_000_000)
#: (values, local ε) -> central ε at δ = 10⁻⁹ for these numbers of people.
FIGURES = {
    (2, 1.0): (0.3876, 0.2061, 0.0622, 0.0188, 0.0056),
    (2, 4.0): (4.0, 3.9207, 0.5613, 0.1649, 0.0497),
    (2, 8.0): (8.0, 8.0, 8.0, 1.749, 0.4156),
    (10, 2.0): (0.6816, 0.3706, 0.1125, 0.0340, 0.0102),
}


@pytest.mark.parametrize(("size", "level"), FIGURES)
def test_published_figures(size, level):
    """Within one per cent."""
    for people, figure in zip(PEOPLE, FIGURES[size, level], strict=True):
        found = privacy.shuffled(GeneralizedResponse(size, level), people)
        assert found.epsilon == pytest.approx(figure, rel=0.01)
        assert found.bound == "own blanket"
        assert found.local <= level


@pytest.mark.parametrize(
    ("level", "size", "people"),
    [
        (1.0, 2, 300),
        (4.0, 2, 1000),
        (3.0, 2, 1000),
        (1.0, 3, 6),
        (2.0, 2, 10),
        (2.0, 10, 300),
        (8.0, 2, 50),
        (0.1, 4, 40),
    ],
)
def test_the_bound_is_the_exact_blanket_and_never_below_it(level, size, people):
    """The sum over frequencies against the double sum, from ε = 0 to almost the local one."""
    file = privacy.shuffled(GeneralizedResponse(size, level), people)
    for epsilon in np.linspace(0, 0.98, 9) * level:
        exact = exact_blanket(file.local, size, people, epsilon)
        assert exact * (1 - 1e-9) <= file.delta_at(epsilon)
        assert exact < 1e-30 or file.delta_at(epsilon) <= 1.02 * exact  # the double sum leaves out less than 1e-40


def test_figures_worked_out_by_hand():
    """Three values among six people, two among ten: exact .024400 and .256013, blanket .027061 and .305535."""
    three, two = (privacy.shuffled(GeneralizedResponse(k, e), n) for k, e, n in ((3, 1.0, 6), (2, 2.0, 10)))
    assert three.delta_at(0.6) == pytest.approx(0.027061, rel=1e-3)
    assert two.delta_at(0.3) == pytest.approx(0.305535, rel=1e-3)
    assert exact_delta(GeneralizedResponse(3, 1.0).matrix(), 6, [0.6]) == [pytest.approx(0.024400, abs=1e-6)]
    assert exact_delta(GeneralizedResponse(2, 2.0).matrix(), 10, [0.3]) == [pytest.approx(0.256013, abs=1e-6)]


@pytest.mark.parametrize("seed", range(20))
def test_never_below_the_exact_delta_of_random_channels(seed):
    """All true answers of the others are enumerated; the experiment ``shuffled`` tries 200 larger ones."""
    generator = np.random.default_rng(seed)
    weights, people = random_channel(generator), int(generator.integers(1, 6))
    file = privacy.shuffled(weights.tolist(), people)
    epsilons = (generator.uniform(0, 1, 3) * file.local).tolist()
    for epsilon, exact in zip(epsilons, exact_delta(weights / 10**4, people, epsilons), strict=True):
        assert exact * (1 - 1e-12) <= file.delta_at(epsilon) <= 1
        assert file.delta_at(epsilon) <= 1.02 * universal_law(file.local).delta(epsilon, people)


@pytest.mark.parametrize(
    "name", [name for name, (one, *_) in FINITE.items() if max(one.shape) <= 7 and one.guarantee.pure]
)
def test_never_below_the_exact_delta_of_the_mechanisms(name):
    """Closed forms and channels alike, each alone and beside a coin."""
    mechanism = FINITE[name][0]
    coin = BinaryResponse.warner("2/3")
    both = np.kron(mechanism.matrix(), coin.matrix())
    cases = [(mechanism, mechanism.matrix(), 4 if max(mechanism.shape) <= 5 else 3), ([mechanism, coin], both, 2)]
    for given, channel, people in cases:
        if channel.shape[1] > 8:
            continue
        file = privacy.shuffled(given, people)
        epsilons = [0.0, file.local * 0.3, file.local * 0.8]
        for epsilon, exact in zip(epsilons, exact_delta(channel, people, epsilons), strict=True):
            assert file.delta_at(epsilon) >= exact * (1 - 1e-9) - 1e-13


def test_a_joint_block_has_its_own_blanket():
    """Its pairs of records in closed form give what the written-out channel gives, and never less than enumeration."""
    joint = JointResponse(ProductLaw((2, 3), (5, 4), (2, 1)), (1 << 64, 3 << 62))
    whole = joint.view(0, 1)
    file, written = privacy.shuffled(joint, 1000), privacy.shuffled(whole.weights(), 1000)
    assert (file.bound, file.unit) == ("own blanket", "record")
    assert file.epsilon == pytest.approx(written.epsilon, rel=1e-5)
    few = privacy.shuffled(joint, 2)
    for epsilon, exact in zip([0.2, 1.0], exact_delta(whole.matrix(), 2, [0.2, 1.0]), strict=True):
        assert few.delta_at(epsilon) >= exact * (1 - 1e-12)


@pytest.mark.parametrize("name", ["joint counts", "joint threshold", "one number"])
def test_large_or_inexact_records_obey_the_universal_bound(name):
    """The bound of binary response with the ε of the record."""
    file = privacy.shuffled(RECORDS[name][0], 100_000)
    assert file.bound == "universal"
    assert file.epsilon == pytest.approx(privacy.shuffled(design.binary(file.local).mechanism, 10**5).epsilon, rel=1e-4)


@pytest.mark.parametrize("level", [0.3, 1.0, 1.5, 2.0, 3.0])
def test_binary_response_is_close_to_the_exact_epsilon(level):
    """All numbers of true "yes" among up to 300 people: at most 15 % above, never below."""
    for people in (20, 100, 300):
        exact = exact_binary_epsilon(level, people, 1e-9)
        found = privacy.shuffled(design.binary(level).mechanism, people).epsilon
        assert exact * (1 - 2e-9) <= found <= 1.15 * exact


def test_blocks_of_a_row_are_one_product_channel():
    """The list gives what the channel of all combinations gives; unchanged blocks count if laws are not symmetric."""
    for first, second in (
        (GeneralizedResponse(3, 1.0), BinaryResponse.forced("1/6", "1/4")),
        (BinaryResponse.forced("1/6", "1/4"), BinaryResponse("9/10", "3/5")),
        (ChannelResponse([[5, 3, 2], [2, 3, 5]]), ChannelResponse([[4, 1], [3, 2], [1, 4]])),
    ):
        weights = np.kron(np.array(first.weights(), object), np.array(second.weights(), object)).tolist()
        for people in (3, 2000):
            blocks = privacy.shuffled([first, second], people, 1e-3)
            whole = privacy.shuffled(weights, people, 1e-3)
            assert blocks.epsilon == pytest.approx(whole.epsilon, rel=1e-5)
            assert blocks.unit == "record"


def test_merging_the_law_of_many_blocks_raises_the_bound_a_little(monkeypatch):
    """A coarse grid of the pair of numbers gives more than the exact law, and hardly more than a fine one."""
    blocks = [GeneralizedResponse(3, 0.2 + 0.05 * i) for i in range(6)]
    exact = privacy.shuffled(blocks, 10_000)
    monkeypatch.setattr("discreet.privacy.blanket.MAX_ATOMS", 400)
    coarse = privacy.shuffled(blocks, 10_000)
    assert exact.epsilon < coarse.epsilon < 1.05 * exact.epsilon
    for epsilon in (0.01, 0.05, 0.1):
        assert coarse.delta_at(epsilon) > exact.delta_at(epsilon)


def test_too_many_pairs_of_rows_fall_back_to_the_universal_bound(monkeypatch):
    """It is larger, and the statement names it."""
    blocks = [BinaryResponse.forced("1/6", "1/4"), BinaryResponse("9/10", "3/5")]
    own = privacy.shuffled(blocks, 5000)
    monkeypatch.setattr("discreet.privacy.blanket.MAX_PAIRS", 3)
    found = privacy.shuffled(blocks, 5000)
    assert (own.bound, found.bound) == ("own blanket", "universal")
    assert own.epsilon < found.epsilon


def test_more_people_more_delta_and_less_local_epsilon_never_hurt():
    """Monotone in all three."""
    by_people = [
        privacy.shuffled(GeneralizedResponse(4, 2.0), n).epsilon for n in (1, 2, 30, 10**3, 10**6, 10**9, 10**12)
    ]
    assert by_people == sorted(by_people, reverse=True)
    assert by_people[-1] == by_people[-2]
    file = privacy.shuffled(GeneralizedResponse(4, 2.0), 5000)
    by_delta = [file.epsilon_at(d) for d in (1e-30, 1e-9, 1e-3, 0.5)]
    assert by_delta == sorted(by_delta, reverse=True)
    by_level = [privacy.shuffled(GeneralizedResponse(4, e), 5000).epsilon for e in (0.1, 1.0, 3.0)]
    assert by_level == sorted(by_level)


def test_one_person_is_not_hidden():
    """The δ of a file with one row is the δ of the channel, and ε hardly differs from the local one."""
    mechanism = GeneralizedResponse(4, 1.0)
    file = privacy.shuffled(mechanism, 1)
    assert file.epsilon == pytest.approx(1.0, abs=1e-5)
    assert file.delta_at(0.5) == pytest.approx(mechanism.certificate.delta(0.5), rel=1e-12)


def test_epsilon_and_delta_are_two_readings_of_one_curve():
    """δ at the stated ε is at most the stated δ, and just below it more; from the local ε on it is 0."""
    file = privacy.shuffled(ChannelResponse([[6, 3, 1], [2, 6, 2], [1, 2, 7]]), 3000, 1e-6)
    assert file.delta_at(file.epsilon) <= 1e-6 < file.delta_at(file.epsilon * (1 - 1e-5))
    assert file.epsilon_at(1e-6) == file.epsilon
    assert file.delta_at(file.local) == file.delta_at(math.inf) == 0.0 < file.delta_at(0.99 * file.local)
    assert pickle.loads(pickle.dumps(file)) == file


def test_a_channel_that_ignores_the_answer():
    """ε = 0 for any number of people."""
    file = privacy.shuffled([[1, 2], [1, 2]], 7)
    assert (file.epsilon, file.local, file.epsilon_at(0.1), file.delta_at(0)) == (0.0, 0.0, 0.0, 0.0)


def test_a_huge_local_epsilon_hides_nobody():
    """The file has the local ε, and δ = 1 below it."""
    file = privacy.shuffled([[10**200, 1], [1, 10**200]], 10**9)
    assert file.epsilon == file.local > 460
    assert file.delta_at(1.0) == 1.0
    assert "too few people" in file.explain()


def test_large_files_take_seconds_and_little_memory():
    """Ten values among 10⁹ people; eight different columns among 10⁵: each at most 5 s of computing, 1 GB in all."""
    code = (
        "import time\nfrom discreet import privacy, mechanisms\nG = mechanisms.GeneralizedResponse\n"
        "for rows, n in ((G(10, 2.0), 10**9), ([G(k, 0.3 + 0.07 * k) for k in range(2, 10)], 10**5)):\n"
        "    start = time.process_time(); file = privacy.shuffled(rows, n); print(time.process_time() - start)\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second, kilobytes = map(float, out.stdout.split())
    assert max(first, second) < 5
    assert kilobytes < 1_000_000


def test_an_explanation_names_reader_operator_and_assumptions():
    """Against whom, by how much, and what is assumed of the operator who shuffles."""
    file = privacy.shuffled(GeneralizedResponse(2, 1.0), 10_000)
    text = file.explain()
    for part in (
        "one answer, against everyone who reads the file",
        "10,000 people in random order",
        "ε = 0.0621",
        "δ = 1e-09",
        "wrong for 5 % of the people with another answer detects at most 5.4 % of the people with it",
        "The guarantee of a single report: ε = 1. It holds against the operator who shuffles the rows",
        "Assumed: the operator who shuffles the rows keeps no record of their order",
        "same values in all public columns",
        "each person has one row",
    ):
        assert part in text
    assert "too few" not in text
    assert "universal" not in str(file)
    assert "hidden among 10,000 people" in str(file)


def test_a_shuffled_file_composes():
    """As (ε, δ) with its caveats, by sums or at a δ to spare."""
    month = privacy.shuffled(GeneralizedResponse(2, 1.0), 10_000)
    year = privacy.compose([month] * 12)
    assert year.epsilon == pytest.approx(12 * month.epsilon)
    assert year.delta == pytest.approx(12e-9)
    assert any("operator" in caveat for caveat in year.caveats)
    assert privacy.compose([month] * 12, 1e-6).epsilon < year.epsilon


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((GeneralizedResponse(2, 1.0), 0), "people must be a whole number from 1"),
        ((GeneralizedResponse(2, 1.0), 2.5), "people must be a whole number"),
        ((GeneralizedResponse(2, 1.0), True), "people must be a whole number"),
        ((GeneralizedResponse(2, 1.0), 10, 0), "delta must be a number above 0 and below 1"),
        ((GeneralizedResponse(2, 1.0), 10, 1), "delta must be a number above 0 and below 1"),
        ((GeneralizedResponse(2, 1.0), 10, math.nan), "delta must be a number above 0"),
        ((BinaryResponse.direct(), 10), "must have a finite ε"),
        (([GeneralizedResponse(2, 1.0), BinaryResponse.mangat("3/5")], 10), "must have a finite ε"),
        (([[1, 0], [0, 1]], 10), "must have a finite ε"),
        ((design.binary(0.5, 0.1, 0.25).mechanism, 10), "needs a mechanism with δ = 0, not δ = 0.1"),
        ((RECORDS["numeric"][0], 10), "needs a mechanism with δ = 0"),
        ((design.binary(1.0), 10), "not a Design; pass its .mechanism"),
        ((Randomness.seeded(1), 10), "takes a mechanism, a matrix or a list of mechanisms, not a value of type"),
        ((None, 10), "takes a mechanism, a matrix or a list of mechanisms, not None"),
        ((GeneralizedResponse, 10), "not the class GeneralizedResponse"),
        (([GeneralizedResponse(2, 1.0), None], 10), "not None"),
        (([], 10), "at least one row"),
        (([[1, 2], [3, 4]], 10), "equal row sums"),
    ],
)
def test_wrong_requests_are_refused_in_one_sentence(arguments, match):
    """What is wrong, and which bound it breaks."""
    with pytest.raises(InputError, match=match) as caught:
        privacy.shuffled(*arguments)
    assert "\n" not in str(caught.value)


def test_a_wrong_level_of_the_curve_is_refused():
    """δ above 0 and below 1, ε from 0 on."""
    file = privacy.shuffled(GeneralizedResponse(2, 1.0), 10)
    with pytest.raises(PrivacyError, match="delta must be a number above 0 and below 1"):
        file.epsilon_at(0.0)
    with pytest.raises(PrivacyError, match="epsilon must be a number of at least 0"):
        file.delta_at(-1)


def test_the_mean_excess_of_coins():
    """Sums of ±1 and 0: the exact mean of the positive part is met from above, for few and for many copies."""
    up, down = 0.2, 0.3
    for copies in (1, 2, 5, 60, 400):
        law = np.ones(1)
        for _ in range(copies):
            law = np.convolve(law, [down, 1 - up - down, up])
        exact = (law * np.maximum(np.arange(-copies, copies + 1), 0)).sum() / copies
        found = mean_excess(np.array([up, down]), np.array([1.0, -1.0]), copies)
        assert exact * (1 - 1e-12) <= found <= exact * 1.005
    assert mean_excess(np.array([0.5]), np.array([-1.0]), 10) == 0.0
