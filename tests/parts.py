"""Parts that not every machine has (a browser, a database server): a test says in one line what it could not run.

``DISCREET_PARTS=all`` promises that they are there, and turns every such skip into a failure.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

#: What the summary at the end of a run looks for.
NOT_RUN = "not run:"


def missing(part: str, how: str) -> NoReturn:
    """Skip the test because a part is not there, or fail it where all parts were promised."""
    sentence = f"{NOT_RUN} {part} ({how})"
    if os.environ.get("DISCREET_PARTS") == "all":
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)
