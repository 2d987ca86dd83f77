"""What can be learned from columns that were randomised together.

``channels`` and ``independence`` are used by ``estimate.crosstab``; ``table`` has tables of two and three attributes.
"""
