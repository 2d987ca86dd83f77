"""What was done to a table, readable by anyone: the document, its digests, its signature and where it is stored."""

from discreet.manifest.document import Column, Manifest, Survey, composed_guarantee, json_schema

__all__ = ["Column", "Manifest", "Survey", "composed_guarantee", "json_schema"]
