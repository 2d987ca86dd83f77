"""What every result has and how it is shown: the base of results, tables as data, and what exports them."""
