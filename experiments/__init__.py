"""Each paper's tables and figures, reproduced and compared: ``python -m experiments.<paper>``."""
