"""How a plan is carried out: sources, layout, order, writing, ledger."""
