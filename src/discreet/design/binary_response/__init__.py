"""Yes/no questions: the (ε, δ)-private response of least variance."""
