"""Several attributes at once: the strongest promise about a record at given levels of its attributes."""

from discreet.design.attributes.attributes import attributes
from discreet.design.attributes.comparison import compare_attributes
from discreet.design.attributes.result import AttributesDesign
from discreet.design.attributes.total import attributes_for_total

__all__ = ["AttributesDesign", "attributes", "attributes_for_total", "compare_attributes"]
