"""Invitations: one-time codes that travel in the fragment of a link, which no server is sent.

A code has 100 random bits, written with 32 letters and digits that are not taken for each other. The database keeps a
digest of it; the list is for whoever sends the invitations, and for nobody else.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from discreet import arguments
from discreet.errors import InputError, ReleaseError
from discreet.files import ordinary_text, whole_file
from discreet.files.whole import hold, take_name, temporary_path, writing
from discreet.survey.database import Database
from discreet.survey.needs import needed
from discreet.survey.page import build_page, fill, web_address
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
    codes = _codes(survey, database, count)
    database.add_codes(codes)
    return codes


def send_invitations(
    survey: Questionnaire, database: Database, count: int, address: str, folder: str | os.PathLike[str]
) -> tuple[Path, Path]:
    """Make codes with their files; the codes are valid when both files are on the disk, and not at all if one is not.

    The files are written first, under the names of unfinished ones; then the digests are stored; then the files get
    their names. If the process is killed in between, the next one names the files if their codes were stored, and
    removes them otherwise.
    """
    _check_address(address)
    codes = _codes(survey, database, count)
    _finish(database, folder)
    return write_invitations(survey, codes, address, folder, lambda: database.add_codes(codes))


def _codes(survey: Questionnaire, database: Database, count: int) -> list[str]:
    """New codes for a survey that takes some; nothing of them is stored."""
    if not survey.invited:
        raise InputError('collect.access must be "invitation" for codes to be asked for')
    count = arguments.whole(count, "count", InputError, least=1, most=_MOST)
    database.open(survey.design)
    if database.closed:
        raise ReleaseError("the survey is closed; no code could be used any more")
    return [new_code() for _ in range(count)]


def _finish(database: Database, folder: str | os.PathLike[str]) -> None:
    """What a killed process left: its files get their names if their codes were stored."""
    listed, sheet = _names(folder)
    if not temporary_path(listed).exists():
        return
    with hold(sheet), hold(listed):
        with ordinary_text(temporary_path(listed), "utf-8") as file:
            codes = [row[0] for row in csv.reader(file) if row][1:]
        if not codes or not database.has_code(codes[0]):
            return  # the next writer of the name removes it
        for path in (sheet, listed):
            if path.exists():
                temporary_path(path).unlink(missing_ok=True)
            else:
                take_name(temporary_path(path), path, overwrite=False)
    raise ReleaseError(
        f'"{listed}" was completed: it holds {len(codes):,} codes of a run that was interrupted. Use them, or choose '
        "another folder for more"
    )


def write_invitations(
    survey: Questionnaire,
    codes: Sequence[str],
    address: str,
    folder: str | os.PathLike[str],
    store: Callable[[], None] = lambda: None,
) -> tuple[Path, Path]:
    """A CSV for mailing, and sheets with QR codes for printing; both readable by their owner only.

    ``store`` is called when the bytes of both are on the disk, and before they get their names.
    """
    needed("segno", "survey")
    links = [f"{_check_address(address)}/#{code}" for code in codes]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "link"])
    writer.writerows(zip(codes, links, strict=True))
    contents = text.getvalue().encode(), _sheet(survey, codes, links).encode()
    listed, sheet = _names(folder)
    with writing(listed.parent):
        listed.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(listed, private=True) as first, whole_file(sheet, private=True) as second:
        for sink, content in zip((first, second), contents, strict=True):
            sink.write(content)
            sink.flush()
            os.fsync(sink.fileno())
        store()
    return listed, sheet


def _names(folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    target = arguments.path(folder, "output", ReleaseError)
    return target / "invitations.csv", target / "invitations.html"


def _check_address(address: str) -> str:
    """Where the page is; a link with a code must lead there in every mail and spreadsheet."""
    found = web_address(address)
    if found is None:
        raise InputError(
            "url must be the address of the page, such as https://survey.example.org/, without a query or a fragment"
        )
    return found


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
