"""Degrees of freedom of declared replicate weights, and which columns a replicate reads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet import Plan, Release, estimate


def _released(clusters=15, replicates=60):
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(clusters), 10)
    drawn = rng.multinomial(clusters, np.full(clusters, 1 / clusters), replicates)
    names = [f"rw{r}" for r in range(replicates)]
    weights = {name: one[cluster].astype(float) for name, one in zip(names, drawn, strict=True)}
    number = rng.normal(size=clusters)[cluster] + rng.normal(size=cluster.size)
    table = pa.table({"w": np.ones(cluster.size), "x": number, "yes": np.where(number > 0, "yes", "no"), **weights})
    block = {"columns": ["yes"], "domain": {"binary": ["no", "yes"]}, "collected": True, "direct": True}
    plan = {
        "public": [{"columns": ["w", "x", *names]}],
        "private": [block],
        "survey": {"weight": "w", "replicates": names, "replication": "bootstrap"},
        "output": {"order": "keep"},
    }
    return Release.from_reports(table, Plan.from_dict(plan))


def test_many_replicates_of_few_clusters_have_the_degrees_of_freedom_of_the_clusters():
    """Sixty bootstrap replicates of 15 clusters: the rank of the weights less one, 14."""
    found = estimate.replicate(lambda release: estimate.mean(release, "x"), _released())
    assert found.degrees_of_freedom == 14


def test_few_replicates_have_one_less_than_their_number():
    """Eight replicates of 15 clusters: 7."""
    found = estimate.replicate(lambda release: estimate.mean(release, "x"), _released(replicates=8))
    assert found.degrees_of_freedom == 7


def test_a_replicate_reads_its_own_weights_alone(monkeypatch):
    """Beside the check of all weights every replicate reads two columns, not all of them."""
    release, read = _released(), []
    batches = Release.batches

    def counted(self, columns=None):
        read.append(len(columns))
        return batches(self, columns)

    monkeypatch.setattr(Release, "batches", counted)
    estimate.replicate(lambda view: estimate.mean(view, "x"), release)
    assert sorted(read)[-1] == 60
    assert sorted(read)[-2] <= 3
