"""What was done to a table, readable by anyone: the manifest, and the release that carries it."""

from discreet.manifest.block import Block
from discreet.manifest.document import Column, Manifest, Survey, json_schema
from discreet.manifest.promises import block_guarantee, composed_guarantee
from discreet.manifest.release import Release

__all__ = ["Block", "Column", "Manifest", "Release", "Survey", "block_guarantee", "composed_guarantee", "json_schema"]
