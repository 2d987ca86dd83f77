"""What was done to a table, readable by anyone: the manifest, and the release that carries it."""

from discreet.manifest.blocks import (
    Block,
    ColumnBlock,
    DesignsByRow,
    FiniteBlock,
    JointBlock,
    NumericBlock,
    OneNumberBlock,
    OneOfSeveral,
    RoundedBlock,
)
from discreet.manifest.document import Column, Manifest, json_schema
from discreet.manifest.promises import composed_guarantee
from discreet.manifest.release import Release
from discreet.manifest.survey import Survey

__all__ = [
    "Block",
    "Column",
    "ColumnBlock",
    "DesignsByRow",
    "FiniteBlock",
    "JointBlock",
    "Manifest",
    "NumericBlock",
    "OneNumberBlock",
    "OneOfSeveral",
    "Release",
    "RoundedBlock",
    "Survey",
    "composed_guarantee",
    "json_schema",
]
