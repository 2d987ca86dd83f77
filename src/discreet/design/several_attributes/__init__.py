"""Several attributes at once: the smallest ε of a record at given levels of its attributes."""
