"""Mechanisms that randomise all columns of a record together: rows in, rows out."""

from __future__ import annotations

from abc import abstractmethod

from discreet.mechanisms.base import Mechanism
from discreet.privacy import Guarantee


class RecordMechanism(Mechanism):
    """How the columns of a record are randomised together; ``privatize`` takes an (n, ``dimension``) array."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of columns."""

    @property
    def record_guarantee(self) -> Guarantee:
        """What is promised about a whole record, also where ``guarantee`` is stated for less."""
        return self.guarantee

    @abstractmethod
    def view(self, *columns: int) -> Mechanism:
        """What some columns alone went through.

        A finite channel, for several columns one of combined codes; a mechanism of shorter records where the reports
        are not finitely many.
        """
