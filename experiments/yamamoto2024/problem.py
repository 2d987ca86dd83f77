"""The problem as declared: the paper's settings, and ours where it does not say."""

from __future__ import annotations

#: Figures 1 to 4: numbers of attributes, random sets for each.
COUNTS = (3, 5, 7, 10)
SETS = 200
QUICK_SETS = 12
#: Figures 1 and 2: ε_i uniform on this interval, a_i = 5. (The published notebook for k = 10 draws from [2, 8].)
LEVELS = (1.0, 8.0)
SIZE = 5
#: Figures 3 and 4: ε_i = 3, a_i random. The paper does not say from where; these are the published notebooks' limits.
LEVEL = 3.0
SIZES = {3: (2, 15), 5: (2, 9), 7: (2, 6), 10: (2, 4)}
#: A heuristic this much above the optimum has lost something; a threshold needs this many sets of each k.
LOSS = 0.02
ENOUGH_SETS = 100
#: The exact curve where the paper has none.
LARGE = (20, 50, 100, 200, 500, 1000)
QUICK_LARGE = (20, 50)

#: Figure 5 as published: levels, numbers of SNPs; allele × disease shares of its binomials (1/3, 1/3 of the rest, 2/5
#: of the rest).
PUBLISHED_LEVELS = (3.0, 5.0)
PUBLISHED_SNPS = tuple(range(10, 101, 10))
QUICK_PUBLISHED_SNPS = (10, 50)
TABLE_SHARES = (1 / 3, 2 / 9, 8 / 45, 4 / 15)
#: The record level that section III.A calls usual is below this.
USUAL = 10.0
#: And at fixed record levels of these units per SNP, which are the levels ε_i of independent randomisation. Above
#: ln 4 = 1.386 per SNP the whole truth fits into the record level, but for a share of e^{−(ε − k ln 4)}.
PER_SNP = (0.5, 1.0, 1.5)
#: Levels beyond this are simulated at it: a report is then wrong once in 10^12.
NO_NOISE = 30.0
INDIVIDUALS = 1_000
ALLELES = 2 * INDIVIDUALS
VALUES = 4
SNPS = (10, 50, 100, 200, 500, 1000)
QUICK_SNPS = (10, 50)
RUNS = 10
PUBLISHED_RUNS = 100
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

#: Tests of independence after joint randomisation: design, sizes, levels, pairs, share of the first value of every
#: attribute, people.
JOINT_TESTS = (
    ("[6,6,2] at 3, 3, 1", (6, 6, 2), (3.0, 3.0, 1.0), "keep", 0.9, 300),
    ("[6,6,2] at 3, 3, 1", (6, 6, 2), (3.0, 3.0, 1.0), "keep", 0.9, 1_000),
    ("[6,6,2] at 3, 3, 1", (6, 6, 2), (3.0, 3.0, 1.0), "keep", 0.98, 300),
    ("[6,6,2] at 5, 5, 1", (6, 6, 2), (5.0, 5.0, 1.0), "keep", 0.9, 300),
    ("[6,6,2] at 5, 5, 1", (6, 6, 2), (5.0, 5.0, 1.0), "free", 0.98, 1_000),
    ("[6,6,2] at 3, 3, 1", (6, 6, 2), (3.0, 3.0, 1.0), "free", 0.9, 100_000),
    ("[2]×3 at 1", (2,) * 3, (1.0,) * 3, "free", 0.9, 300),
    ("[2]×3 at 1", (2,) * 3, (1.0,) * 3, "free", 0.98, 300),
    ("[2]×3 at 2", (2,) * 3, (2.0,) * 3, "free", 0.7, 10_000),
    ("[2]×8 at 1", (2,) * 8, (1.0,) * 8, "keep", 0.9, 1_000),
    ("[3,4,2] at 1, 2, 0.5", (3, 4, 2), (1.0, 2.0, 0.5), "keep", 0.98, 1_000),
    ("[3,4,2] at 1, 2, 0.5", (3, 4, 2), (1.0, 2.0, 0.5), "free", 0.7, 10_000),
    ("[4]×4 at 2", (4,) * 4, (2.0,) * 4, "free", 0.9, 300),
    ("[4]×4 at 2", (4,) * 4, (2.0,) * 4, "free", 0.98, 10_000),
    ("[4]×10 at 0.5", (4,) * 10, (0.5,) * 10, "keep", 0.9, 1_000),
    ("[2,6,3] at 2, 3, 1", (2, 6, 3), (2.0, 3.0, 1.0), "free", 0.98, 300),
    ("[2,6,3] at 2, 3, 1", (2, 6, 3), (2.0, 3.0, 1.0), "keep", 0.9, 100_000),
)
#: And after independent randomisation: columns, the two mechanisms, share of the first value, people.
SEPARATE_TESTS = (
    ("2×2 at 1", ("response", (2, 1.0)), ("response", (2, 1.0)), 0.98, 300),
    ("2×2 at 4", ("response", (2, 4.0)), ("response", (2, 4.0)), 0.98, 1_000),
    ("2×6 at 0.5 and 1", ("response", (2, 0.5)), ("response", (6, 1.0)), 0.9, 1_000),
    ("6×6 at 3", ("response", (6, 3.0)), ("response", (6, 3.0)), 0.9, 300),
    ("6×6 at 5", ("response", (6, 5.0)), ("response", (6, 5.0)), 0.98, 300),
    ("6×6 at 5", ("response", (6, 5.0)), ("response", (6, 5.0)), 0.9, 100_000),
    ("public 6 × 4 at 2", ("public", 6), ("response", (4, 2.0)), 0.98, 300),
    ("four reports × 4 at 2", ("four reports", (1.0, 0.1)), ("response", (4, 2.0)), 0.9, 300),
    ("four reports × four reports", ("four reports", (1.0, 0.1)), ("four reports", (1.0, 0.1)), 0.98, 1_000),
    ("four reports × 6 at 3", ("four reports", (2.0, 0.02)), ("response", (6, 3.0)), 0.9, 10_000),
)
#: And in surveys: columns, whether a joint block, sizes, levels, what the survey has, share of the first value, people.
SURVEY_TESTS = (
    ("[4,4,2] at 2, 2, 1, joint", True, (4, 4, 2), (2.0, 2.0, 1.0), "weights", 0.9, 1_000),
    ("[4,4,2] at 2, 2, 1, joint", True, (4, 4, 2), (2.0, 2.0, 1.0), "clusters", 0.9, 1_000),
    ("[2]×3 at 1, joint", True, (2,) * 3, (1.0,) * 3, "clusters", 0.9, 300),
    ("2×2 at 1.5", False, (2, 2), (1.5, 1.5), "weights", 0.9, 300),
    ("4×4 at 3", False, (4, 4), (3.0, 3.0), "weights", 0.9, 1_000),
    ("6×6 at 3", False, (6, 6), (3.0, 3.0), "clusters", 0.7, 1_000),
    ("4×4 at 3", False, (4, 4), (3.0, 3.0), "designs", 0.9, 300),
)
#: The share of people whose two truths follow each other, when power is measured.
ASSOCIATED = 0.5
#: The size that a test at 5 % may have.
LEAST_SIZE, MOST_SIZE = 0.03, 0.08
TEST_RUNS = 4_000
QUICK_TEST_RUNS = 60
QUICK_SURVEY_RUNS = 20

#: Real genotypes: record levels per SNP, and repetitions of each.
GENOTYPE_LEVELS = (0.5, 1.0, 2.0, 4.0, 8.0)
GENOTYPE_RUNS = 20
SIGNIFICANT = 0.05
