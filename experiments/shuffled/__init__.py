"""How close the bound of a shuffled file is to the exact figure, and that it is never below it."""
