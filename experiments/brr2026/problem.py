"""What the paper sets, and what it leaves open."""

from __future__ import annotations

#: Theorems 1 to 3: the limits are checked at these sizes.
THEOREM_SIZES = (201, 2_001, 200_001)
THEOREM_LEVELS = (0.25, 0.5, 1.0, 2.0, 4.0)
#: Sizes up to which the printed formula is compared with the search, and the levels.
FORMULA_SIZE = 300
FORMULA_LEVELS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)

#: Figure 5: loss against N at one ε, and against ε at one N.
FIGURE_5_SIZES = (10, 20, 40, 60, 80, 100)
FIGURE_5_LEVEL = 1.0
FIGURE_5_N = 100
FIGURE_5_LEVELS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)

#: Figure 6: the paper does not say which sets are compared. Ours: subsets of 20 elements, each with probability ½.
JACCARD_UNIVERSE = 20
FIGURE_6_N = 100
FIGURE_6_SIZES = (20, 40, 60, 80, 100)
FIGURE_6_LEVELS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)

#: Figure 8: how many places are drawn, and the largest region that figure 7 states.
DATA_SETS = {
    "Gowalla": ("gowalla_poi.csv", 1_000, 235, (7, 13)),
    "FourSquare": ("foursquare_us_poi.csv", 3_000, 278, (64, 14)),
}
FIGURE_8_LEVELS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
#: Drawings of places: the paper has one, and does not say which.
FIGURE_8_DRAWINGS = 5
#: What section 5.3 states: by how much BRR is below L-SRR, on average and at best.
FIGURE_8_STATED = {"Gowalla": (0.087, 0.234, 2.0), "FourSquare": (0.067, 0.143, 0.25)}

#: Figure 12: shares of the places that report; the paper needs 4 seconds for 3,000 users.
FIGURE_12_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
SEED = 2026
