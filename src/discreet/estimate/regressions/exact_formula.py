"""A formula whose columns are straight lines of numbers with noise: the exact correction, and the likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import Floats
from discreet.domains.columns import without_dictionary
from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.copies import NoisyBlock
from discreet.estimate.noisy_numbers.sample import Sample as Records
from discreet.estimate.noisy_numbers.sample import SurveyDesign
from discreet.estimate.regressions.diagnosis import exploding
from discreet.estimate.regressions.families import Family, Poisson
from discreet.estimate.regressions.laplace_exact import ExactLoss, Noise, index_loss, refused, spread_of, views_of
from discreet.estimate.regressions.losses import IndexLoss, Squared
from discreet.estimate.regressions.numeric import NumericColumns, affine_columns, with_numbers
from discreet.estimate.regressions.over_copies import box_is_better, continued
from discreet.estimate.regressions.result import CorrectedRegression
from discreet.estimate.regressions.sample import labels
from discreet.estimate.regressions.semiparametric.fit import fit_likelihood, obstacle
from discreet.mechanisms import Mechanism

if TYPE_CHECKING:
    from discreet.estimate.regressions.formula import FormulaFit


@dataclass(eq=False)
class ExactFormula:
    """Numbers with noise as predictors beside public columns.

    Attributes
    ----------
    work : FormulaFit
    numeric : NumericColumns
    """

    work: FormulaFit
    numeric: NumericColumns

    @property
    def _outcome(self) -> str:
        return self.work.sides.outcome

    @cached_property
    def _predictors(self) -> tuple[str, ...]:
        return tuple(name for name in self.numeric.names if name != self._outcome)

    @cached_property
    def block(self) -> NoisyBlock | None:
        """The predictors' reports with their mechanism, where they got their noise together."""
        names = self._predictors
        if not names or len({self.numeric.block_of(name) for name in names}) > 1:
            return None
        place = self.numeric.block_of(names[0])
        group, block = self.numeric.groups[place], self.numeric.blocks[place]
        chosen = [group.index(name) for name in names]
        return NoisyBlock(block.reports[:, chosen], block.mechanism.coordinates(chosen))

    @cached_property
    def lines(self) -> tuple[Floats, Floats] | None:
        """How the model's columns depend on the numbers; None where they bend, or other columns were randomised."""
        if self.block is None or self.work.columns.private:
            return None
        return affine_columns(self.work.matrices, self._predictors, self.block.mechanism)

    def refused(self, method: str) -> str | None:
        """Why a method other than "box" cannot be used, in one sentence, or None."""
        if self.lines is None:
            return (
                f'the method "{method}" is there for numbers of one block that are predictors beside public columns, '
                'without functions that bend and without interactions; use method="box"'
            )
        loss, columns = index_loss(self.work.outcome.family), self.work.columns
        if loss is None:
            return f'the method "{method}" is there for link logit and probit, and not for classes; use method="box"'
        if columns.randomised_outcome and len(columns.randomised[-1].mechanisms) != 1:
            return (
                f'the outcome "{self._outcome}" was asked under designs that differ by row: use method="box", which '
                "corrects for both"
            )
        assert self.block is not None
        if method == "likelihood":
            return None
        zero = self.block.mechanism.zero_probability
        return refused(loss, method, zero) or self._refused_outcome(loss, method)

    def _refused_outcome(self, loss: IndexLoss, method: str) -> str | None:
        """Why the noise of the outcome cannot be corrected for by a method, or None."""
        if self._outcome not in self.numeric.names:
            return None
        if not loss.location:
            return f"a noisy outcome needs a loss of y − η, which {loss.name} is not"
        if method != "exact":
            return 'noise of the outcome is corrected by the methods "exact" and "box" only'
        own = self.numeric.blocks[self.numeric.block_of(self._outcome)].mechanism
        if own.zero_probability == 0 and not isinstance(loss, Squared):
            return f"the {loss.name} loss needs a zero probability above 0 for the outcome too"
        return None

    def chosen(self, method: str) -> tuple[str, list[str]]:
        """The method, and a note on how it was chosen: by the design, before any outcome is looked at."""
        if method not in ("auto", "corrected"):
            why = None if method == "box" else self.refused(method)
            if why is not None:
                raise EstimationError(why)
            return method, []
        if not self.numeric.has_box:
            return ("box" if self.refused("exact") else "exact"), []
        family, block = self.work.outcome.family, self.block
        smooth = not (family.kinked or isinstance(family, Poisson))
        if smooth and block is not None and self.refused("exact") is None and not box_is_better(block.mechanism):
            return "exact", ['the method "exact" was chosen by the design: so few records are published exactly that '
                             'inside the box variances are expected to be larger']  # fmt: skip
        return "box", []

    def fit(self, method: str, fit: Callable[..., CorrectedRegression], notes: Sequence[str]) -> CorrectedRegression:
        """The fit by a method that is not over copies."""
        if method == "likelihood":
            return self._likelihood(fit, notes)
        risk = self._risk(method)
        found = replace(fit(risk, notes=notes), prefers_score=not self.work.outcome.family.kinked)
        return exploding(found, risk)

    def _risk(self, method: str) -> ExactLoss:
        """The exact correction at the reports."""
        work, block = self.work, self.block
        assert block is not None
        assert self.lines is not None
        design, mechanism = work.matrices.matrix(self.numeric.table), block.mechanism
        second = None
        if method in ("drcl", "sdrcl", "sl"):
            doubly = mechanism.doubly_randomized(block.reports, None)
            second = work.matrices.matrix(with_numbers(self.numeric.table, self._predictors, doubly))
        B, _ = self.lines
        loss = index_loss(work.outcome.family)
        assert loss is not None
        outcomes, y = self._outcomes()
        curved = None
        if loss.kinked:
            kept = continued(self.numeric.copies()).kept
            curved = work.risk(work.rows(kept.record, kept.weight, kept.values))
        names = work.matrices.names
        return ExactLoss(
            work.outcome.family,
            views_of(method, design, second, mechanism.zero_probability),
            outcomes,
            self._noise((B * mechanism.noise_scale**2) @ B.T),
            next(iter(work.source.chunks())).sample.written_out(),
            names.index("Intercept") if "Intercept" in names else None,
            spread_of(y, loss),
            curved,
        )

    def _noise(self, covariance: Floats) -> Noise:
        assert self.block is not None
        zero, outcome = self.block.mechanism.zero_probability, self._outcome
        if outcome not in self.numeric.names:
            return Noise(zero, covariance)
        place = self.numeric.block_of(outcome)
        mechanism = self.numeric.blocks[place].mechanism.coordinates([self.numeric.groups[place].index(outcome)])
        own = float(mechanism.noise_scale[0] ** 2)
        if place == self.numeric.block_of(self._predictors[0]):
            return Noise(zero, covariance, outcome=own)
        return Noise(zero, covariance, other=(mechanism.zero_probability, own / 2))

    def _outcomes(self) -> tuple[tuple[tuple[Floats, Floats | None], ...], Floats]:
        """Outcomes of every row with the weights that undo their randomisation; and numbers that show their spread."""
        work, table = self.work, self.numeric.table
        if work.columns.randomised_outcome:
            column, counts = work.columns.randomised[-1], work.look.counts[-1]
            undone = column.table(counts)[column.read(table)]
            possible = work.outcome.possible
            assert possible is not None
            values = possible[0]
            ones = np.ones(table.num_rows)
            return tuple((value * ones, undone[:, k]) for k, value in enumerate(values)), values
        y = work.outcome.values(without_dictionary(table[self._outcome].combine_chunks()))[:, 0]
        return ((y, None),), y

    def _likelihood(self, fit: Callable[..., CorrectedRegression], notes: Sequence[str]) -> CorrectedRegression:
        """Maximum likelihood with the law of the numbers on cells."""
        records, order = self._records()
        family: Family = self.work.outcome.family
        loss = index_loss(family)
        assert loss is not None
        problem = obstacle(loss, records)
        if problem is not None:
            raise EstimationError(problem)
        from discreet.estimate.regressions.over_copies import fit_over_copies

        first = fit_over_copies(self.work, self.numeric.copies(), fit)
        found = fit_likelihood(loss, records, np.array(first.coefficients)[order], first, order)
        return replace(found, notes=(*notes, *found.notes))

    def _records(self) -> tuple[Records, Any]:
        """The numbers and the other columns of the model, and the place of every coefficient in the formula."""
        assert self.block is not None
        assert self.lines is not None
        (B, offset), d = self.lines, len(self._predictors)
        noisy = np.flatnonzero(B.any(axis=1))
        selected = B[noisy].argmax(axis=1)
        if not (np.array_equal(B[noisy], np.eye(d)[selected]) and not offset[noisy].any() and noisy.size == d):
            raise EstimationError('the method "likelihood" takes numbers with noise as they are, each once')
        work, table = self.work, self.numeric.table
        public = np.array([j for j in range(len(B)) if j not in set(noisy.tolist())], np.intp)
        design = work.matrices.matrix(table)
        sample, mechanism, given = next(iter(work.source.chunks())).sample.written_out(), self.block.mechanism, None
        y: Floats
        if work.columns.randomised_outcome:
            column = work.columns.randomised[-1]
            given, y = column.mechanisms[0], column.read(table).astype(float)
        else:
            y = self._outcomes()[1]
        weights = None if sample.weights is None else sample.weights / sample.weights.mean()
        survey = SurveyDesign(weights, labels(sample.strata), labels(sample.clusters))
        own: Mechanism | None = given
        noise = mechanism if self._outcome in self.numeric.names else None
        undone = None if own is None else np.ones((len(y), 2))
        private = self.block.reports[:, selected]
        records = Records(private, design[:, public], mechanism.coordinates(selected.tolist()), y, undone, noise,
                          False, survey, mechanism, own)  # fmt: skip
        return records, np.concatenate([noisy, public])
