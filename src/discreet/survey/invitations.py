"""Invitations: one-time codes that travel in the fragment of a link, which no server is sent.

A code has 100 random bits, written with 32 letters and digits that are not taken for each other. The database keeps a
digest of it; the list is for whoever sends the invitations, and for nobody else.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Sequence
from html import escape
from pathlib import Path

from discreet import arguments
from discreet.errors import InputError, ReleaseError
from discreet.survey.database import Database
from discreet.survey.needs import needed
from discreet.survey.page import build_page, fill
from discreet.survey.questionnaire import Questionnaire
from discreet.survey.wording import asset

#: Without I, L, O and U.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 20
#: Invitations made at once.
_MOST = 1_000_000


def new_code() -> str:
    """A code.

    >>> len(new_code()), set(new_code()) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    (20, True)
    """
    return "".join(secrets.choice(_ALPHABET) for _ in range(CODE_LENGTH))


def invite(survey: Questionnaire, database: Database, count: int) -> list[str]:
    """Make codes, and remember their digests."""
    if not survey.invited:
        raise InputError('collect.access must be "invitation" for codes to be asked for')
    count = arguments.whole(count, "count", InputError, least=1, most=_MOST)
    database.open(survey.design)
    if database.closed:
        raise ReleaseError("the survey is closed; no code could be used any more")
    codes = [new_code() for _ in range(count)]
    database.add_codes(codes)
    return codes


def write_invitations(
    survey: Questionnaire, codes: Sequence[str], address: str, folder: str | os.PathLike[str]
) -> tuple[Path, Path]:
    """A CSV for mailing, and sheets with QR codes for printing; both readable by their owner only."""
    needed("segno", "survey")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    links = [f"{address.rstrip('/')}/#{code}" for code in codes]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "link"])
    writer.writerows(zip(codes, links, strict=True))
    listed, sheet = target / "invitations.csv", target / "invitations.html"
    write_private(listed, text.getvalue())
    write_private(sheet, _sheet(survey, codes, links))
    return listed, sheet


def _sheet(survey: Questionnaire, codes: Sequence[str], links: Sequence[str]) -> str:
    digest = build_page(survey).sha256
    cards = "".join(
        f'<section><div class="qr">{qr_svg(link)}</div><div><h2>{escape(survey.title)}</h2>'
        f"<p>{escape(link.split('#')[0])}</p>"
        f'<p class="code">{" ".join(code[i : i + 5] for i in range(0, CODE_LENGTH, 5))}</p>'
        f'<p class="page">page {digest[:16]}…</p></div></section>'
        for code, link in zip(codes, links, strict=True)
    )
    return fill(asset("invitations.html"), TITLE=escape(survey.title), BODY=cards)


def qr_svg(text: str) -> str:
    """A QR code as SVG inside a page."""
    import segno

    drawn: str = segno.make(text, error="m").svg_inline(border=2, omitsize=True)
    return drawn


def qr_terminal(text: str) -> str:
    """A QR code in characters."""
    import segno

    out = io.StringIO()
    segno.make(text, error="m").terminal(out, compact=True, border=1)
    return out.getvalue()


def write_private(path: Path, text: str) -> None:
    """A file that nobody else can read, and that replaces nothing."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise ReleaseError(f'"{path}" exists; codes are not written over others, choose another folder') from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
