"""discreet design: what a plan promises and which error bars it allows, without reading any data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.numbers import compared, compared_text
from discreet.cli.terminal import command, emit
from discreet.cli.wording import in_options
from discreet.errors import InputError, NotIdentifiedError
from discreet.plain_text import one_line

if TYPE_CHECKING:
    from discreet.blocks import Block, JointBlock, NumericBlock, OneNumberBlock
    from discreet.cli.choices import Choice
    from discreet.design.planning.statistical_power import Conduct
    from discreet.mechanisms import FiniteMechanism, UnbiasedResponse
    from discreet.publish import Plan


@command
def design_command(
    plan: Annotated[Path, typer.Argument(help="The plan, a TOML file.")],
    rows: Annotated[
        int | None,
        typer.Option("--rows", "-n", min=1, help="How many rows (people) to expect; the plan's own rows by default."),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the error bars.")] = 0.95,
    power: Annotated[
        bool, typer.Option("--power", help="Also say which differences between groups would be found.")
    ] = False,
    prevalence: Annotated[float, typer.Option(help="For --power: the share in one group.")] = 0.1,
    difference: Annotated[float, typer.Option(help="For --power: how much more the other has.")] = 0.05,
    design_effect: Annotated[float, typer.Option(help="Of clusters and weights.")] = 1.0,
    response_rate: Annotated[float, typer.Option(help="Share of those asked who answer.")] = 1.0,
    noncompliance: Annotated[
        float, typer.Option(help="Share of answers that are the first report whatever is asked.")
    ] = 0.0,
    power_plot: Annotated[
        Path | None, typer.Option(help="For --power: draw the curves into this PNG, SVG or PDF file.")
    ] = None,
    outside_files: Annotated[
        bool, typer.Option("--outside-files", help="Let the plan name files outside its own folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say in plain words what a plan promises, the error bars its users will get, and why each mechanism was chosen.

    Reads the plan only, never the data: decide on epsilon before anybody's answer is touched.
    """
    from discreet.cli.choices import choices
    from discreet.design.planning.statistical_power import Conduct
    from discreet.publish import Plan

    read = Plan.read(plan, outside_files=outside_files)
    read.check_budget()
    for _, spec in read.row_designs:
        raise InputError(
            f"{spec.path}: the designs stand in columns of the answers, which this command does not read; discreet "
            "collect them, and discreet show says what they promise"
        )
    rows = read.budget.rows if rows is None else rows
    if rows is None:
        raise InputError("say how many rows to expect with --rows, or in the plan with budget.rows")
    survey = Survey(rows, level, Conduct.checked(design_effect, response_rate, noncompliance))
    blocks, chosen = [_block(block, survey) for block in read.blocks], choices(read, rows)
    for facts, choice in zip(blocks, chosen, strict=True):
        facts["design"] = choice.facts
    files = [str(file) for file in read.files]
    data: dict[str, Any] = {"files": files, "guarantee": read.guarantee.to_dict(), "rows": rows, "level": level}
    data["blocks"] = blocks
    text = _text(read, blocks, chosen, survey)
    if read.split is not None:
        data["split"] = read.split.to_dict()
        text += f"\n\nHow the budget was split\n{read.split.summary()}"
    if power or power_plot is not None:
        from discreet.cli.power import Question, draw_power, power_of_plan

        question = Question(prevalence, difference, rows, level, survey.conduct)
        lines, data["power"], curves = power_of_plan(read, question)
        emit("\n\n".join([text, "\n".join(lines)]), data, as_json)
        draw_power(curves, power_plot)
        return
    emit(text, data, as_json)


@dataclass(frozen=True)
class Survey:
    """How many people are asked, how they answer, and how sure one wants to be."""

    rows: int
    level: float
    conduct: Conduct

    @property
    def answers(self) -> int:
        """The simple random sample that tells as much."""
        return max(1, self.conduct.effective(self.rows))

    def margin(self, mechanism: FiniteMechanism) -> float:
        """Of every frequency."""
        from discreet.design import margin

        return margin(mechanism, self.answers, self.level, noncompliance=self.conduct.noncompliance)


def _block(block: Block, survey: Survey) -> dict[str, Any]:
    from discreet.blocks import JointBlock, NumericBlock, OneNumberBlock
    from discreet.mechanisms import UnbiasedResponse

    if isinstance(block, JointBlock):
        return _together(block, survey)
    if isinstance(block, OneNumberBlock):
        return _one_number(block, survey)
    if isinstance(block, NumericBlock):
        return _numeric(block, survey)
    if isinstance(block.mechanism, UnbiasedResponse):
        return _unbiased(block, block.mechanism, survey)
    designs = block.channels_of(block.columns[0])
    margins: dict[str, float | str] = {}
    for name, mechanism in designs.items():
        try:
            margins[name] = survey.margin(mechanism)
        except NotIdentifiedError as error:
            margins[name] = in_options(error)
    return {
        "columns": list(block.columns),
        "values": next(iter(designs.values())).shape[0],
        "mechanism": {name: type(mechanism).__name__ for name, mechanism in designs.items()},
        "guarantee": block.guarantee.to_dict(),
        "margin": margins if block.by else margins[""],
        "estimator": "unbiased",
    }


def _unbiased(block: Block, mechanism: UnbiasedResponse, survey: Survey) -> dict[str, Any]:
    """Unbiased numbers: how well their mean is known, at the worst distribution of the truth."""
    from discreet.design.numbers.mean_variance import finite_mean_margin

    return {
        "columns": list(block.columns),
        "mechanism": type(mechanism).__name__,
        "guarantee": block.guarantee.to_dict(),
        "points": mechanism.shape[0],
        "range": [mechanism.points[0], mechanism.points[-1]],
        "mean_margin": finite_mean_margin(mechanism, survey.answers, survey.level),
        "comparison": compared(1, mechanism.guarantee.epsilon, 0.0, survey),
    }


def _unbiased_text(block: Block, facts: dict[str, Any]) -> list[str]:
    low, high = facts["range"]
    return [
        f"  {_names(block)}: numbers from {low:g} to {high:g} on {facts['points']} points, {block.guarantee.summary()}",
        f"    mean to ± {facts['mean_margin']:.4g}",
        *compared_text(facts["comparison"], high - low),
    ]


def _one_number(block: OneNumberBlock, survey: Survey) -> dict[str, Any]:
    """One number per row: how often each is drawn, and how well its mean is then known."""
    from discreet.design.numbers.mean_variance import finite_mean_margin

    parts, shares = block.mechanism.parts, block.mechanism.shares.tolist()
    reporting = [max(1, round(survey.answers * share)) for share in shares]
    return {
        "columns": list(block.columns),
        "mechanism": type(block.mechanism).__name__,
        "guarantee": block.guarantee.to_dict(),
        "shares": shares,
        "mean_margin": [finite_mean_margin(one, n, survey.level) for one, n in zip(parts, reporting, strict=True)],
    }


def _one_number_text(block: Block, facts: dict[str, Any]) -> list[str]:
    lines = [f"  numbers of which every row reports one ({len(block.columns)}): {block.guarantee.summary()}"]
    for name, share, value in zip(facts["columns"], facts["shares"], facts["mean_margin"], strict=True):
        lines.append(f'    "{one_line(name)}": reported by {share:.1%} of the rows, mean to ± {value:.4g}')
    return lines


def _numeric(block: NumericBlock, survey: Survey) -> dict[str, Any]:
    """Numeric columns: the noise, and how well a mean is known when values lie at both ends of their range."""
    from discreet.design.planning.sample_sizes import mean_margin

    mechanism = block.mechanism
    record = mechanism.record_guarantee
    return {
        "columns": list(block.columns),
        "mechanism": type(mechanism).__name__,
        "guarantee": block.guarantee.to_dict(),
        "attribute_delta": mechanism.delta(mechanism.epsilon, unit="attribute"),
        "scale": list(mechanism.scale),
        "zero_probability": mechanism.zero_probability,
        "margin": mean_margin(mechanism, survey.answers, survey.level).tolist(),
        "width": mechanism.box.high[0] - mechanism.box.low[0] if len(block.columns) == 1 else None,
        "comparison": compared(len(block.columns), record.epsilon, record.delta, survey, mechanism),
    }


def _numeric_text(block: Block, facts: dict[str, Any]) -> list[str]:
    lines = [
        f"  numeric columns with noise ({len(facts['columns'])}): {block.guarantee.summary()}",
        f"    one column, the others being known: δ = {facts['attribute_delta']:.4g} at the same ε",
    ]
    for name, scale, value in zip(facts["columns"], facts["scale"], facts["margin"], strict=True):
        lines.append(f'    "{name}": noise of {scale:.4g}, mean to ± {value:.4g}')
    return lines + compared_text(facts["comparison"], facts["width"])


def _together(block: JointBlock, survey: Survey) -> dict[str, Any]:
    """Columns that are randomised together: what the alternatives would promise, and the margin of each column."""
    from discreet.design import compare_attributes
    from discreet.design.several_attributes.result import least_pair_information, least_triple_information

    joint = block.mechanism
    levels = [float(one) for one in joint.marginal_epsilons]
    return {
        "columns": list(block.columns),
        "values": [domain.size for domain in block.domains],
        "mechanism": type(joint).__name__,
        "guarantee": block.guarantee.to_dict(),
        "marginal_epsilons": levels,
        "record_epsilon": compare_attributes(joint),
        "least_pair_information": least_pair_information(joint),
        "least_triple_information": least_triple_information(joint),
        "margin": [survey.margin(joint.view(i)) for i in range(len(levels))],
    }


def _together_text(block: Block, facts: dict[str, Any]) -> list[str]:
    alternatives = facts["record_epsilon"]
    lines = [
        f"  columns randomised together ({len(block.columns)}): {block.guarantee.summary()}",
        "    record-level ε at these column levels: "
        + ", ".join(map(_alternative, *zip(*alternatives.items(), strict=True))),
        "    a column level protects against somebody who sees only that column; the record level against everybody",
    ]
    from discreet.estimate.channels.joint import LEAST_INFORMATION

    least = facts["least_pair_information"]
    if least is not None:
        warning = "" if least > LEAST_INFORMATION else ": some cross-table cannot be estimated"
        lines.append(f"    pairs keep at least {least:.3g} of the information of independent randomisation{warning}")
    triples = facts["least_triple_information"]
    if triples is not None:
        warning = "" if triples > LEAST_INFORMATION else ': some table of three cannot be estimated (pairs = "triples")'
        lines.append(f"    triples keep at least {triples:.3g} of it{warning}")
    for name, values, epsilon, value in zip(
        block.columns, facts["values"], facts["marginal_epsilons"], facts["margin"], strict=True
    ):
        lines.append(f'    "{name}": {values} values, column level {epsilon:.4g}, every frequency to ± {value:.2%}')
    return lines


def _alternative(name: str, level: float | str) -> str:
    """One way to randomise columns, and what it costs the record."""
    shown = level if isinstance(level, str) else f"{level:.4g}"
    return f"published heuristic {shown} (need not keep cross-tables)" if name == "heuristic" else f"{name} {shown}"


def _promise(plan: Plan, rows: int) -> list[str]:
    """The promise, with expected numbers where every row is asked in the same way; else the exposure of each design."""
    from discreet.reading.exposure import choosing_columns, expected_rows, exposure_of_designs

    if choosing_columns(plan.blocks):
        return [plan.guarantee.explain(), *(f"Exposure of {line}." for line in exposure_of_designs(plan.blocks))]
    expected = expected_rows(plan.blocks, [], {(): rows})
    whom = {"people" if plan.budget.rows_per_person == 1 else "rows": rows}
    return [plan.guarantee.explain(**whom, failing=expected.failing, exposed=expected.exposed)]


def _text(plan: Plan, blocks: list[dict[str, Any]], chosen: list[Choice], survey: Survey) -> str:
    from discreet.blocks import JointBlock, NumericBlock, OneNumberBlock
    from discreet.mechanisms import UnbiasedResponse

    lines = [f"Plan: {one_line(plan.title or '(no title)')}"]
    if plan.files:
        lines.append(f"It publishes what it reads from: {one_line(', '.join(map(str, plan.files)))}")
    lines += ["", "The promise", *_promise(plan, survey.rows), ""]
    sure = f"{100 * survey.level:.4g} % confidence, at the worst distribution of answers"
    assumed = survey.conduct.words()
    lines.append(f"Error bars to expect with {survey.rows:,} rows ({sure}{f'; assumed: {assumed}' if assumed else ''})")
    for block, facts in zip(plan.blocks, blocks, strict=True):
        if isinstance(block, JointBlock):
            lines.extend(_together_text(block, facts))
        elif isinstance(block, OneNumberBlock):
            lines.extend(_one_number_text(block, facts))
        elif isinstance(block, NumericBlock):
            lines.extend(_numeric_text(block, facts))
        elif isinstance(block.mechanism, UnbiasedResponse):
            lines.extend(_unbiased_text(block, facts))
        else:
            lines.extend(_frequencies_text(block, facts))
        if block.missing != "reject":
            lines.append(f"    missing values: {block.missing}")
    lines += ["", "Why these mechanisms"]
    for block, choice in zip(plan.blocks, chosen, strict=True):
        lines += [f"  {_names(block)}", *(f"    {line}" for line in choice.lines)]
    return "\n".join(lines)


def _names(block: Block) -> str:
    return one_line(", ".join(f'"{column}"' for column in block.columns))


def _frequencies_text(block: Block, facts: dict[str, Any]) -> list[str]:
    from discreet.blocks import FiniteBlock

    lines = [f"  {_names(block)}: {facts['values']} values, {block.guarantee.summary()}"]
    margins = facts["margin"] if block.by else {"": facts["margin"]}
    for name, value in margins.items():
        prefix = f"    rows with {block.by} = {name}, if they were all: " if block.by else "    every frequency to "
        lines.append(f"{prefix}± {value:.2%}" if isinstance(value, float) else f"    {value}")
    if isinstance(block, FiniteBlock) and block.reports.size > block.domain.size == 2:
        lines.append(
            "    this is for the unbiased estimate; where an answer is rare, maximum likelihood (method = mle) "
            "needs far fewer people"
        )
    return lines
