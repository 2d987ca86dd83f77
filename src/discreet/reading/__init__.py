"""What a recipient opens: a release with its columns, batches and parts."""

from discreet.reading.releases import Release

__all__ = ["Release"]
