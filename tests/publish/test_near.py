"""Plans whose reports lie near the truth: ordinal, grid and metric domains, end to end."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import Metric, NotIdentifiedError, Ordinal, Plan, PlanError, Randomness, Release, estimate, release
from discreet.cli.app import app
from discreet.domains import WithBlank
from discreet.mechanisms import BipartiteResponse, ChannelResponse, ExponentialResponse

BANDS = ["<10k", "10-20k", "20-40k", ">40k"]


def block(**changes):
    """An income band, reported near the truth."""
    given = {"columns": ["income"], "domain": {"ordinal": BANDS}, "mechanism": "bipartite", "epsilon": 1.0} | changes
    return {key: value for key, value in given.items() if value is not None}


def plan(**changes):
    return Plan.from_dict({"private": [block(**changes)]})


@pytest.fixture
def places(tmp_path):
    """Twelve places with coordinates, in a CSV file beside the plan."""
    rng = np.random.default_rng(0)
    rows = "".join(f"p{i},{x:.4f},{y:.4f}\n" for i, (x, y) in enumerate(rng.uniform([-100, 40], [-99, 41], (12, 2))))
    (tmp_path / "places.csv").write_text("name,lon,lat\n" + rows)
    return {"file": "places.csv", "value": "name", "x": "lon", "y": "lat", "distance": "haversine"}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, BipartiteResponse),
        ({"high": "best"}, BipartiteResponse),
        ({"high": 2}, BipartiteResponse),
        ({"high": "best", "prior": [0.7, 0.1, 0.1, 0.1]}, BipartiteResponse),
        ({"domain": {"grid": {"low": 0, "high": 10, "points": 1001}}}, BipartiteResponse),
        ({"domain": {"ordinal": BANDS, "positions": [5, 15, 30, 60]}}, BipartiteResponse),
        ({"missing": "category", "missing_loss": 2.0}, BipartiteResponse),
        ({"mechanism": "exponential"}, ExponentialResponse),
        ({"mechanism": "expected-error"}, ChannelResponse),
        ({"mechanism": "expected-error", "prior": [0.25, 0.25, 0.25, 0.25]}, ChannelResponse),
    ],
    ids=str,
)
def test_every_mechanism_of_the_grammar(changes, kind):
    """A block becomes the certified mechanism that it names."""
    made = plan(**changes).blocks[0]
    assert isinstance(made.mechanism, kind)
    assert 1 - 1e-9 <= made.guarantee.epsilon <= 1.0
    if "high" in changes and changes["high"] == 2:
        assert made.mechanism.near == 2


def test_places_are_read_from_a_file(tmp_path, places):
    """Coordinates of a CSV file become a metric domain: x is the longitude, y the latitude."""
    made = Plan.from_dict({"private": [block(domain={"metric": places})]}, folder=tmp_path).blocks[0]
    assert isinstance(made.domain, Metric)
    assert made.domain.size == 12
    assert np.all(made.domain.coordinates[:, 0] > 0)
    assert made.mechanism.neighbours.shape[0] == 12
    flat = Plan.from_dict({"private": [block(domain={"metric": places | {"distance": "euclidean"}})]}, folder=tmp_path)
    assert np.all(flat.blocks[0].domain.coordinates[:, 0] < 0)


def test_a_blank_is_a_value_with_a_loss_of_its_own():
    """With a large loss of the blank, a blank is hardly near any value."""
    made = plan(missing="category", missing_loss=50.0, high=2).blocks[0]
    assert isinstance(made.domain, WithBlank)
    assert all(4 not in made.mechanism.near_reports(x) for x in range(4))
    assert 4 in made.mechanism.near_reports(4)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_release_and_learn(tmp_path, places, ending):
    """A table of places and bands is released near the truth; ranges come from the manifest alone."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "place": [f"p{i}" for i in rng.integers(0, 12, 3_000)],
            "income": [BANDS[i] for i in rng.choice(4, 3_000, p=[0.5, 0.2, 0.2, 0.1])],
        }
    )
    data = {"private": [block(columns=["place"], domain={"metric": places}), block(high=2)]}
    output = tmp_path / f"out.{ending}"
    release(table, Plan.from_dict(data, folder=tmp_path), output, Randomness.seeded(1))
    opened = Release.open(output)
    assert opened.mechanism("place") == Plan.from_dict(data, folder=tmp_path).blocks[0].mechanism
    with pytest.raises(NotIdentifiedError, match="bounds"):
        estimate.frequencies(opened, "income")
    ranges = estimate.frequencies(opened, "income", method="bounds")
    assert ranges.labels == BANDS
    assert np.all(ranges.bounds()[:, 0] <= [0.53, 0.23, 0.23, 0.13])
    assert np.all(ranges.bounds()[:, 1] >= [0.47, 0.17, 0.17, 0.07])
    assert ranges.quantile(0.5).low in BANDS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": None}, r"private\[0\]\.epsilon is missing"),
        ({"domain": {"categorical": ["a", "b"]}}, r"private\[0\]\.mechanism.*order or a distance"),
        ({"domain": {"binary": ["no", "yes"]}}, "order or a distance"),
        ({"high": 0}, r"private\[0\]\.high must be"),
        ({"high": 5}, "from 1 to 4"),
        ({"high": "most"}, "search"),
        ({"high": "best", "prior": "flat"}, r"private\[0\]\.prior must be a list"),
        ({"high": "best", "prior": [0.5, 0.5]}, r"private\[0\]\.prior.*4 numbers"),
        ({"prior": [0.25, 0.25, 0.25, 0.25]}, 'only with high = "best"'),
        ({"high": "best", "prior": [0.5, 0.5, 0.5, 0.5]}, "sum to 1"),
        ({"delta": 0.1}, r"private\[0\]\.delta does not belong"),
        ({"mechanism": "exponential", "high": "best"}, "high belongs"),
        ({"mechanism": "exponential", "prior": [1, 0, 0, 0]}, "prior has no part"),
        ({"mechanism": "expected-error", "high": 2}, "high belongs"),
        ({"mechanism": "randomized-response", "high": 2}, r"private\[0\]\.high belongs to mechanism = bipartite"),
        ({"missing": "category"}, r"private\[0\]\.missing_loss is missing"),
        ({"missing": "category", "missing_loss": -1.0}, "negative"),
        ({"missing_loss": 1.0}, "missing = "),
        ({"domain": {"metric": {"file": "x.csv"}}}, r"domain\.metric\.value is missing"),
        ({"domain": {"metric": {"file": "x.csv", "value": "a", "x": "b", "y": "c"}}}, "no file"),
        ({"domain": {"metric": {"file": "x.csv", "value": "a", "x": "b", "y": "c", "distance": "far"}}}, "haversine"),
        ({"domain": {"ordinal": [str(i) for i in range(301)]}, "mechanism": "expected-error"}, "300"),
    ],
    ids=str,
)
def test_bad_plans_are_refused(changes, message):
    """One sentence with the path of the key."""
    with pytest.raises(PlanError, match=message) as caught:
        plan(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,lon,lat\na,1,2\nb,x,3\n", "must hold numbers"),
        ("name,lon,lat\na,1,2\nb,,3\n", "empty cell"),
        ("name,lon,lat\na,1,2\nb,1,2\n", "repeat"),
        ("name,lon,lat\na,1,95\nb,1,2\n", "latitude"),
        ("name,lon,lat\na,1,2\n", "at least 2"),
        ("name,lon\na,1\nb,2\n", 'no column "lat"'),
    ],
)
def test_bad_files_of_places_are_refused(tmp_path, places, content, message):
    """Coordinates that are missing, out of range or repeated."""
    (tmp_path / "places.csv").write_text(content)
    with pytest.raises(PlanError, match=message):
        Plan.from_dict({"private": [block(domain={"metric": places})]}, folder=tmp_path)


def test_the_command_line_designs_releases_and_learns(tmp_path, places):
    """Discreet design, release and estimate with a bipartite block, in words and in JSON."""
    (tmp_path / "plan.toml").write_text(
        '[[private]]\ncolumns = ["income"]\ndomain = { ordinal = ["a", "b", "c", "d"] }\n'
        'mechanism = "bipartite"\nepsilon = 1.0\nhigh = 2\n'
        '[[private]]\ncolumns = ["place"]\nmechanism = "bipartite"\nepsilon = 1.0\n'
        'domain = { metric = { file = "places.csv", value = "name", x = "lon", y = "lat", distance = "haversine" } }\n'
    )
    rng = np.random.default_rng(3)
    rows = "".join(
        f"{'abcd'[i]},p{j}\n" for i, j in zip(rng.integers(0, 4, 500), rng.integers(0, 12, 500), strict=True)
    )
    (tmp_path / "data.csv").write_text("income,place\n" + rows)
    run = CliRunner().invoke
    told = run(app, ["design", str(tmp_path / "plan.toml"), "--rows", "500"])
    assert told.exit_code == 0, told.output
    assert "bounds" in told.output or "apart" in told.output
    made = run(
        app, ["release", str(tmp_path / "data.csv"), str(tmp_path / "plan.toml"), "-o", str(tmp_path / "out.csv")]
    )
    assert made.exit_code == 0, made.output
    refused = run(app, ["estimate", "frequencies", str(tmp_path / "out.csv"), "income"])
    assert refused.exit_code == 2
    learned = run(app, ["estimate", "frequencies", str(tmp_path / "out.csv"), "income", "--method", "bounds", "--json"])
    assert learned.exit_code == 0, learned.output
    data = json.loads(learned.stdout)
    assert data["kind"] == "frequency bounds"
    assert all(low <= 0.25 <= high for low, high in zip(data["interval"]["low"], data["interval"]["high"], strict=True))


def test_a_domain_of_a_million_bands_is_released():
    """Closed form from plan to manifest."""
    made = Plan.from_dict(
        {"private": [block(domain={"grid": {"low": 0, "high": 1e6, "points": 10**6}}, columns=["amount"])]}
    )
    out = release(pa.table({"amount": np.linspace(0, 1e6, 1_000)}), made, randomness=Randomness.seeded(1))
    assert out.mechanism("amount").size == 10**6
    assert len(json.dumps(out.manifest.to_dict())) < 5_000
    assert isinstance(plan().blocks[0].domain, Ordinal)
