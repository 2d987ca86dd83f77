"""Private learning on real data: the data sets with bounds that are public facts, and what was measured on them."""
