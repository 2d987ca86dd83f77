"""The problem as declared: the paper's settings, and ours where it does not say."""

from __future__ import annotations

#: Figures 1 to 4: numbers of attributes, random sets for each.
COUNTS = (3, 5, 7, 10)
SETS = 200
QUICK_SETS = 12
#: Figures 1 and 2: ε_i uniform on this interval, a_i = 5.
LEVELS = (1.0, 8.0)
SIZE = 5
#: Figures 3 and 4: ε_i = 3, a_i random. The paper does not say from where; these reach Σ a_i of its axes.
LEVEL = 3.0
SIZES = (2, 20)
#: The exact curve where the paper has none.
LARGE = (20, 50, 100, 200, 500, 1000)
QUICK_LARGE = (20, 50)

#: Figure 5: individuals, values per attribute, and numbers of SNPs. The paper fixes the record level without saying
#: at what; ours are these units per SNP, which are the levels ε_i of independent randomisation. Above ln 4 = 1.386 per
#: SNP the whole truth fits into the record level, but for a share of e^{−(ε − k ln 4)}.
PER_SNP = (0.5, 1.0, 1.5)
#: Levels beyond this are simulated at it: a report is then wrong once in 10^12.
NO_NOISE = 30.0
INDIVIDUALS = 1_000
VALUES = 4
SNPS = (10, 50, 100, 200, 500, 1000)
QUICK_SNPS = (10, 50)
RUNS = 10
#: SNPs whose statistics are simulated for each k; each has the same law.
SIMULATED = 40

#: Table I: a_i from {2, 3, 4, 5}, ε_i from [1, 10), seconds as printed.
TIMES_HEURISTIC = {3: "0.000092", 5: "0.00017", 10: "0.00051", 100: "0.015", 500: "0.27", 1000: "1.14"}
TIMES_PROGRAMME = {3: "0.0060", 10: "54.9"}
TIMED = (3, 5, 10, 12, 14, 100, 500, 1000, 100_000)
QUICK_TIMED = (3, 5, 10, 12)
#: Attributes up to which the linear programme, and the exact design, are run.
PROGRAMME_TIMED = 14
EXACT_TIMED = 1000

#: Check figures: sizes, levels, free optimum, heuristic.
CHECKS = (
    ((2, 2), (1.0, 1.0), 1.489880, 1.489880),
    ((3, 4, 2), (1.0, 2.0, 0.5), 2.799961, 2.855212),
    ((5,) * 5, (1.0, 2.0, 3.0, 4.0, 5.0), 9.079313, 7.721382),
    ((2,) * 8, (1.0,) * 8, 3.444286, 5.397892),
    ((4,) * 10, (0.5,) * 10, 1.815643, 11.188952),
)
SEED = 2024

#: Tests of independence: designs, and the share of the first value of every attribute (0: all values alike).
RESPONDENTS = 1_000
INDEPENDENCE = (
    ("[2]×3 at 0.5", (2,) * 3, (0.5,) * 3),
    ("[2]×3 at 1", (2,) * 3, (1.0,) * 3),
    ("[2]×8 at 1", (2,) * 8, (1.0,) * 8),
    ("[3,4,2] at 1, 2, 0.5", (3, 4, 2), (1.0, 2.0, 0.5)),
    ("[4]×10 at 0.5", (4,) * 10, (0.5,) * 10),
)
MARGINS = (("even", 0.0), ("70 %", 0.7), ("90 %", 0.9))
TEST_RUNS = 1_000
QUICK_TEST_RUNS = 100

#: Real genotypes: record levels per SNP, and repetitions of each.
GENOTYPE_LEVELS = (0.5, 1.0, 2.0, 4.0, 8.0)
GENOTYPE_RUNS = 20
SIGNIFICANT = 0.05
