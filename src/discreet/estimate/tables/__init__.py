"""Joint frequencies of two or three columns, with odds ratios and tests of independence."""
