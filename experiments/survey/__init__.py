"""A survey from end to end: people in a real browser, and intervals that are looked at again and again."""
