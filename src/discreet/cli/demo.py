"""discreet demo: the whole chain on a real survey."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.terminal import command, emit
from discreet.errors import ReleaseError
from discreet.files import whole_file, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

PLAN = """\
format = 1
title = "Fair's survey of 6,366 married women (Redbook, 1974)"

[budget]
epsilon = {epsilon}
rows_per_person = 1

[[public]]
columns = ["religious"]

[[private]]
columns = ["had_affair"]
domain = {{ binary = ["no", "yes"] }}
mechanism = "randomized-response"
epsilon = {epsilon}
"""

#: People by how religious they say they are, and whether they had an affair: R. C. Fair, "A theory of extramarital
#: affairs", Journal of Political Economy 86 (1978). The two columns of the demo are these eight numbers.
COUNTS = {
    "1 not": {"no": 613, "yes": 408},
    "2 mildly": {"no": 1448, "yes": 819},
    "3 fairly": {"no": 1715, "yes": 707},
    "4 strongly": {"no": 537, "yes": 119},
}


@command
def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for everything the demo writes.")] = Path(
        "demo"
    ),
    epsilon: Annotated[float, typer.Option(help="The privacy level.")] = 1.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Plan, release, estimate and audit a real survey: who had an extramarital affair?

    Uses Fair's survey of 6,366 women. Everything is written into one folder: the true table, the plan, the release and
    a picture.
    """
    import pyarrow.parquet as pq

    from discreet.audit import audit
    from discreet.design import margin
    from discreet.publish import Plan, release

    truth = fair_survey()
    plan = Plan.parse(PLAN.format(epsilon=epsilon))
    _fresh_folder(output, overwrite)
    source, target = output / "survey.parquet", output / "private.parquet"
    with whole_file(source, private=True) as sink:
        pq.write_table(truth, sink)
    write_whole(output / "plan.toml", PLAN.format(epsilon=epsilon).encode())
    done = release(source, plan, target, ledger=None)
    figures = _compare(truth, done)
    _draw(figures, output / "prevalence.png", epsilon)
    checked = audit(done)
    text = [
        f"The survey: {truth.num_rows:,} people, one sensitive question. Written to {output}/:",
        "  survey.parquet (the truth), plan.toml, private.parquet (may be published), prevalence.png",
        "",
        "The promise",
        done.explain(),
        "",
        f"Before asking: expect ± {margin(done.mechanism('had_affair'), done.rows):.1%} "  # type: ignore[arg-type]  # finite
        "on the overall prevalence (worst case, 95 %).",
        "",
        _table(figures),
        "",
        "Naive takes the reports at face value. Corrected undoes the randomisation on average and says how sure it is.",
        "",
        "The audit",
        checked.summary(),
        "",
        "The same by hand:",
        f"  discreet design {output}/plan.toml --rows {truth.num_rows}",
        f"  discreet release {source} {output}/plan.toml -o out.parquet",
        "  discreet estimate frequencies out.parquet had_affair --by religious",
        "  discreet audit out.parquet --attack",
    ]
    emit(
        "\n".join(text),
        {"guarantee": done.guarantee.to_dict(), "prevalence": figures, "audit": checked.to_dict()},
        as_json,
        made=f'the demonstration in "{output}" was made',
    )


def _fresh_folder(output: Path, overwrite: bool) -> None:
    if output.exists():
        if not output.is_dir() or not overwrite:
            raise ReleaseError(f'"{output}" exists; --overwrite replaces it, --output chooses another folder')
        ours = {"survey.parquet", "plan.toml", "private.parquet", "prevalence.png"}
        strangers = sorted(
            p.name for p in output.iterdir() if p.name not in ours and not p.name.startswith(".discreet-")
        )
        if strangers:
            raise ReleaseError(
                f'"{output}" holds files that are not from the demo ({strangers[0]}); choose another folder'
            )
        shutil.rmtree(output)
    output.mkdir(parents=True)


def fair_survey() -> pa.Table:
    """Fair's data as a table, one row a person: a public column and the sensitive one."""
    import pyarrow as pa

    people = [(group, answer) for group, counts in COUNTS.items() for answer, n in counts.items() for _ in range(n)]
    return pa.table({"religious": [group for group, _ in people], "had_affair": [answer for _, answer in people]})


def _compare(truth: pa.Table, done: Any) -> list[dict[str, Any]]:
    """Truth, naive and corrected prevalence, overall and by group."""
    import pyarrow.compute as pc

    from discreet.estimate import GroupedFrequencies, frequencies

    reports = done.to_arrow()
    overall = frequencies(done, "had_affair")
    grouped = frequencies(done, "had_affair", by="religious")
    figures = []
    assert isinstance(grouped, GroupedFrequencies)
    for name, result in [("everybody", overall), *grouped.results.items()]:
        chosen = {}
        for key, table in (("truth", truth), ("naive", reports)):
            rows = table if name == "everybody" else table.filter(pc.equal(table["religious"], name))
            chosen[key] = pc.mean(pc.equal(rows["had_affair"].cast("string"), "yes").cast("float64")).as_py()
        low, high = result.interval()[1]
        figures.append(
            {"group": str(name), "n": result.n, **chosen, "corrected": float(result.estimate[1]),
             "std_error": float(result.std_error[1]), "low": float(low), "high": float(high)}
        )  # fmt: skip
    return figures


def _table(figures: list[dict[str, Any]]) -> str:
    lines = [f"{'Had an affair':14}{'people':>8}{'truth':>9}{'naive':>9}{'corrected':>11}   95 % interval"]
    for f in figures:
        lines.append(
            f"{f['group']:14}{f['n']:>8,}{f['truth']:>9.1%}{f['naive']:>9.1%}{f['corrected']:>11.1%}"
            f"   {f['low']:.1%} to {f['high']:.1%}"
        )
    return "\n".join(lines)


def _draw(figures: list[dict[str, Any]], path: Path, epsilon: float) -> None:
    import matplotlib
    import numpy as np

    from discreet.plots import Series, plot_forest, save_picture

    matplotlib.use("agg")
    corrected, naive, truth = (np.array([f[kind] for f in figures]) for kind in ("corrected", "naive", "truth"))
    series = [
        Series("corrected, 95 % interval", corrected, np.array([[f["low"], f["high"]] for f in figures])),
        Series("naive", naive, marker="s"),
        Series("truth", truth, marker="|"),
    ]
    title = f"Had an affair, by religiousness (ε = {epsilon:g})"
    labels = [f["group"] for f in figures]
    save_picture(plot_forest(labels, series, title=title, quantity="share", percent=True), path)
