"""Which tables of several attributes a joint design keeps at least as informative as independent randomisation.

With χ_i = (a_i B_i − 1)/(a_i − 1) and λ_S = E[Π_{i∈S} χ_i] under the mechanism, what is known of how the attributes of
S go together shrinks by λ_S; under independent randomisation by Π λ_i. A table of S needs every part of S, so that
keeping it means λ_T ≥ Π_{i∈T} λ_i for all T ⊆ S with at least two attributes: linear constraints.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from discreet import arguments
from discreet.design.attributes.request import Request
from discreet.errors import DesignError

Tables = tuple[tuple[int, ...], ...]
#: What can be kept by one word: every table of so many attributes.
WORDS = {"free": 1, "keep": 2, "triples": 3}
#: Rows of the programme times cells: beyond, it takes minutes and gigabytes.
_MAX_ENTRIES = 4_000_000


def checked_pairs(given: Any, count: int) -> str | Tables:
    """One of the words, or tables by the positions of their attributes."""
    if isinstance(given, str):
        return arguments.choice(given, "pairs", tuple(WORDS), DesignError)
    tables = arguments.listed(given, "pairs", DesignError)
    if not tables:
        raise DesignError('pairs must be "keep", "free", "triples" or a list of tables, each a list of attributes')
    return tuple(_checked_table(table, f"pairs[{i}]", count) for i, table in enumerate(tables))


def _checked_table(given: Any, name: str, count: int) -> tuple[int, ...]:
    listed = arguments.listed(given, name, DesignError)
    table = [arguments.whole(i, f"an attribute of {name}", DesignError, least=0, most=count - 1) for i in listed]
    if len(table) < 2 or len(set(table)) < len(table):
        raise DesignError(f"{name} must name at least two different attributes, from 0 to {count - 1}")
    return tuple(sorted(table))


def kept_groups(request: Request, pairs: str | Tables) -> tuple[tuple[int, ...], Tables]:
    """The group of every attribute, and the kinds of tables to keep by groups.

    Attributes that are asked for alike share a group, unless tables are named: then each stands for itself.
    """
    if isinstance(pairs, str):
        groups = request.groups
        members = [groups.count(g) for g in range(max(groups) + 1)]
        kinds = [
            kind
            for size in range(2, WORDS[pairs] + 1)
            for kind in itertools.combinations_with_replacement(range(len(members)), size)
            if all(kind.count(g) <= members[g] for g in set(kind))
        ]
        return groups, tuple(kinds)
    parts = {
        part for table in pairs for size in range(2, len(table) + 1) for part in itertools.combinations(table, size)
    }
    return tuple(range(request.count)), tuple(sorted(parts, key=lambda part: (len(part), part)))


def refuse_too_large(kept: Sequence[Any], cells: int) -> None:
    """Say before any work is done that there are too many tables."""
    if len(kept) * cells > _MAX_ENTRIES:
        raise DesignError(
            f"keeping {len(kept):,} kinds of tables on {cells:,} patterns is over the limit of {_MAX_ENTRIES:,} "
            "entries: name the tables that matter, such as pairs = [(0, 1, 2)], or take fewer attributes"
        )
