"""Whether what users are told holds: coverage of intervals, size and power of tests, over many runs."""
