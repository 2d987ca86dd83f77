"""A total ε split over columns."""
