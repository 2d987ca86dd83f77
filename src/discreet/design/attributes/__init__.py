"""Several attributes at once: the strongest promise about a record at given levels of its attributes."""

from discreet.design.attributes.attributes import attributes
from discreet.design.attributes.comparison import compare_attributes
from discreet.design.attributes.levels_for_total import attributes_for_total
from discreet.design.attributes.result import AttributesDesign

__all__ = ["AttributesDesign", "attributes", "attributes_for_total", "compare_attributes"]
