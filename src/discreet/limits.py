"""What received text and files may ask for, in one place.

Plans, manifests, tables and formulas come from other people. Each of these bounds is far above what honest work
needs and low enough that whatever is inside it is answered in bounded time and memory; what is outside is refused in
one sentence. `docs/security.md` lists them for readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

#: What holds nothing else.
_PLAIN = frozenset({str, int, float, bool, NoneType})

# Plans and manifests.

#: Bytes of a plan. One that lists 100,000 values in place has about two million; longer lists belong in a file.
PLAN_BYTES = 2_500_000
#: Bytes of a manifest. The largest honest one is a full channel of 4,096 × 4,096 integers of 64 bits, written out.
MANIFEST_BYTES = 500_000_000
#: How deep lists and tables, or the parts of a dotted key, may lie inside each other. The grammars need ten levels.
NESTING = 50
#: Characters of a number that is written as text. Python itself refuses to read longer integers.
NUMBER_CHARACTERS = 4_300
#: Largest power of ten in such a number: "1e-999999999" is twelve characters and a gigabyte of digits, and beyond
#: this power floating point has ended anyway.
NUMBER_EXPONENT = 400

#: Files of a folder that are read as one table. A hundred gigabytes in parts of a megabyte.
FOLDER_PARTS = 100_000

#: Bytes of a key in PEM form, which has a few hundred.
KEY_BYTES = 100_000

# Mechanisms and domains.

#: Largest ε whose exponential is worked out: e^(10^9) has 400 million digits. Designs end near 180 anyway, where the
#: largest denominator does.
EPSILON = 10_000.0

#: Values that a domain may have; the closed-form mechanisms count in 32-bit integers.
DOMAIN_VALUES = 10_000_000
#: Largest number in a domain that is measured: squares of distances and their products must not overflow.
LARGEST_NUMBER = 1e100
#: Threshold answers in one mixture. Designs use at most a dozen; each costs one law of a weighted sum.
THRESHOLD_COMPONENTS = 64
#: Attributes times the sum of all weights of a mixture, which is the work of its law: the largest design has 20,000
#: attributes and a sum of 2^23.
THRESHOLD_WORK = 1 << 38
#: Rows of a table, and rows per person, that a manifest or plan may state: 64-bit integers.
ROWS = (1 << 63) - 1

# Tables.

#: Columns of a table.
TABLE_COLUMNS = 20_000
#: Texts that stand for a missing value.
MISSING_VALUES = 100
#: Characters of the header of a CSV file: 20,000 names of 100 characters.
HEADER_CHARACTERS = 2_000_000

#: Different designs that the rows of one block may have, where columns of the table hold their parameters.
ROW_DESIGNS = 1_000

# Formulas.

#: Characters of a formula.
FORMULA_CHARACTERS = 5_000
#: Parentheses and operations inside each other.
FORMULA_NESTING = 30
#: Terms after ``*``, ``/`` and ``**`` are multiplied out.
FORMULA_TERMS = 500
#: Columns of a model matrix: the information matrix has this number squared.
MODEL_COLUMNS = 2_000
#: Levels of a category in a formula.
CATEGORY_LEVELS = 1_000
#: Degree of ``poly``; beyond it even orthogonal polynomials lose their digits.
POLYNOMIAL_DEGREE = 20
#: Degrees of freedom of ``bs`` and ``cs``.
SPLINE_DF = 50
#: Different values of an expression inside ``scale``, ``center``, ``poly``, ``bs`` and ``cs`` that are kept at once
#: while their state is worked out: 16 bytes each.
DISTINCT_VALUES = 50_000_000


def nested_too_deep(data: Any, limit: int = NESTING) -> bool:
    """Whether lists and mappings lie deeper inside each other than the limit; found without recursion."""
    level = [data]
    for _ in range(limit + 1):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, (list, tuple)):
                inner.extend(value)
            elif isinstance(value, (dict, Mapping)):  # a dict is recognised at once, an abstract Mapping slowly
                inner.extend(value.values())
        # Most values are text and numbers, and leave by the first test.
        level = [v for v in inner if type(v) not in _PLAIN and isinstance(v, (dict, list, tuple, Mapping))]
        if not level:
            return False
    return True
