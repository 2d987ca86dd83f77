"""From an XLSForm to a survey: the spreadsheet that ODK, Kobo and SurveyCTO read, with a column of privacy levels.

A question with a number under ``discreet::epsilon`` is private; all others are public. ``discreet::mechanism`` names a
mechanism of a plan. What cannot be asked so that a report gives nothing away is refused with its row: free text,
several choices at once, and questions that depend on an answer.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any

from discreet import arguments
from discreet.errors import PlanError, ReleaseError
from discreet.survey.needs import needed
from discreet.survey.wording import LANGUAGES

#: Rows that ask nothing of anybody, and that a survey does without: it keeps no paradata.
_PARADATA = {
    "start",
    "end",
    "today",
    "deviceid",
    "username",
    "phonenumber",
    "email",
    "audit",
    "simserial",
    "subscriberid",
}
_STRUCTURE = {"begin group", "end group", "begin_group", "end_group", "note", "calculate", "hidden"}
_LANGUAGE = re.compile(r"\(([a-z]{2,3})\)\s*$|^([a-z]{2,3})$")


@dataclass
class Imported:
    """A plan made from a form, and what was left out of it."""

    plan: str
    left_out: list[str] = field(default_factory=list)


def read_xlsform(path: str | os.PathLike[str]) -> Imported:
    """The survey of a form as a plan, in TOML."""
    needed("pyxform", "xlsform")
    from pyxform.errors import PyXFormError
    from pyxform.xls2json_backends import get_xlsform

    file = arguments.path(path, "path", ReleaseError)
    if not file.is_file():
        raise ReleaseError(f'there is no file "{file}"')
    try:
        form = get_xlsform(file)
    except (PyXFormError, OSError, ValueError, KeyError) as error:
        raise ReleaseError(f'"{file.name}" cannot be read as an XLSForm ({type(error).__name__})') from None
    sheets = {
        name: [dict(row) for row in getattr(form, name, None) or []] for name in ("survey", "choices", "settings")
    }
    return _Form(sheets, file.stem).imported()


class _Form:
    """The rows of a form on their way to a plan."""

    def __init__(self, sheets: dict[str, list[dict[str, Any]]], name: str) -> None:
        self.rows = [row for row in sheets["survey"] if row.get("type")]
        self.choices: dict[str, list[dict[str, Any]]] = {}
        for row in sheets["choices"]:
            self.choices.setdefault(str(row.get("list_name") or row.get("list name")), []).append(row)
        settings = sheets["settings"][0] if sheets["settings"] else {}
        self.title = str(settings.get("form_title") or name)
        self.languages = self._languages(str(settings.get("default_language") or ""))
        self.left_out: list[str] = []

    def _languages(self, first: str) -> tuple[str, ...]:
        """Language codes of the columns ``label::English (en)``."""
        found: dict[str, str] = {}
        for row in (*self.rows, *(one for rows in self.choices.values() for one in rows)):
            for key in row:
                if key.startswith("label::"):
                    match = _LANGUAGE.search(key.removeprefix("label::").strip())
                    if match is None:
                        raise PlanError(f'column "{key}": say which language it is, as in label::English (en)')
                    found[match[1] or match[2]] = key.removeprefix("label")
        for language in found:
            if language not in LANGUAGES:
                raise PlanError(f'language "{language}": the words of a page are there in {", ".join(LANGUAGES)}')
        self._suffix = found or {"en": ""}
        default = _LANGUAGE.search(first.strip())
        codes = list(self._suffix)
        if default is not None and (default[1] or default[2]) in codes:
            codes.sort(key=lambda code: code != (default[1] or default[2]))
        return tuple(codes)

    def imported(self) -> Imported:
        """All rows, in order."""
        public: list[str] = []
        blocks: list[str] = []
        questions: list[str] = []
        for number, row in enumerate(self.rows, start=2):
            kind = " ".join(str(row["type"]).split())
            if kind in _PARADATA or kind in _STRUCTURE:
                self.left_out.append(f"row {number} ({kind})")
                continue
            self._refuse(row, kind, number)
            name = str(row.get("name") or "")
            if row.get("discreet::epsilon") in (None, ""):
                public.append(name)
                questions.append(self._question(row, name, number, kind, private=False))
            else:
                blocks.append(self._block(row, name, number, kind))
                questions.append(self._question(row, name, number, kind, private=True))
        if not blocks:
            raise PlanError("no question has a number under discreet::epsilon: nothing would be randomised")
        head = [
            f"format = 1\ntitle = {_text(self.title)}\n",
            f'[collect]\naccess = "open"\nlanguages = {_text(self.languages)}\n',
        ]
        listed = [f"[[public]]\ncolumns = {_text(public)}\n"] if public else []
        return Imported("\n".join([*head, *listed, *blocks, *questions]), self.left_out)

    def _refuse(self, row: dict[str, Any], kind: str, number: int) -> None:
        if str(row.get("relevant") or "").strip():
            raise PlanError(
                f"row {number}: relevant makes a question depend on an answer, which can give that away; a survey asks "
                "everybody every question"
            )
        if kind.split(maxsplit=1)[0] in (
            "text",
            "select_multiple",
            "rank",
            "image",
            "audio",
            "video",
            "file",
            "geopoint",
            "barcode",
        ):
            raise PlanError(
                f"row {number}: {kind.split(maxsplit=1)[0]} cannot be randomised; use select_one, integer with bounds, "
                "or range"
            )
        if kind.split(maxsplit=1)[0] not in ("select_one", "integer", "decimal", "range"):
            raise PlanError(f"row {number}: {kind[:40]} is not a kind of question that a survey has")

    def _question(self, row: dict[str, Any], name: str, number: int, kind: str, *, private: bool) -> str:
        lines = ["[[question]]", f"column = {_text(name)}", f"text = {self._words(row, 'label', number)}"]
        if any(row.get(f"hint{suffix}") for suffix in self._suffix.values()):
            lines.append(f"help = {self._words(row, 'hint', number)}")
        if kind.startswith("select_one"):
            each = [
                "{ value = " + _text(str(choice["name"])) + ", " + self._words(choice, "label", number)[2:]
                for choice in self._choices(kind, number)
            ]
            lines.append("choices = [" + ", ".join(each) + "]")
        elif not private:
            lines.append(f"choices = {{ {self._grid(row, number)} }}")
        if not private and str(row.get("required") or "").lower() not in ("yes", "true", "true()", "1"):
            lines.append("required = false")
        return "\n".join(lines) + "\n"

    def _block(self, row: dict[str, Any], name: str, number: int, kind: str) -> str:
        try:
            epsilon = float(row["discreet::epsilon"])
        except (TypeError, ValueError):
            raise PlanError(f"row {number}: discreet::epsilon must be a number") from None
        if kind.startswith("select_one"):
            values = [str(choice["name"]) for choice in self._choices(kind, number)]
            domain = f"{{ {'binary' if len(values) == 2 else 'categorical'} = {_text(values)} }}"
        else:
            domain = f"{{ {self._grid(row, number)} }}"
        required = str(row.get("required") or "").lower() in ("yes", "true", "true()", "1")
        mechanism = str(row.get("discreet::mechanism") or "randomized-response")
        lines = ["[[private]]", f"columns = {_text([name])}", f"domain = {domain}", f"mechanism = {_text(mechanism)}"]
        lines += [f"epsilon = {epsilon!r}", *([] if required else ['missing = "category"'])]
        return "\n".join(lines) + "\n"

    def _choices(self, kind: str, number: int) -> list[dict[str, Any]]:
        found = self.choices.get(kind.split()[1] if len(kind.split()) > 1 else "", [])
        if len(found) < 2:
            raise PlanError(f"row {number}: its list of choices is not there, or has fewer than two")
        return found

    def _grid(self, row: dict[str, Any], number: int) -> str:
        """From the parameters of a range, or the bounds of a constraint such as ``. >= 0 and . <= 20``."""
        given = dict(re.findall(r"(start|end|step)\s*=\s*(-?[\d.]+)", str(row.get("parameters") or "")))
        bounds = dict(re.findall(r"\.\s*(>=|<=)\s*(-?[\d.]+)", str(row.get("constraint") or "")))
        low, high = given.get("start", bounds.get(">=")), given.get("end", bounds.get("<="))
        if low is None or high is None:
            raise PlanError(f"row {number}: a number needs bounds, as constraint (. >= 0 and . <= 20) or as a range")
        step = float(given.get("step", 1))
        points = round((float(high) - float(low)) / step) + 1 if step > 0 else 0
        return f"grid = {{ low = {float(low)!r}, high = {float(high)!r}, points = {points} }}"

    def _words(self, row: dict[str, Any], key: str, number: int) -> str:
        parts = []
        for language in self.languages:
            text = row.get(f"{key}{self._suffix[language]}") or row.get(key)
            if not text:
                raise PlanError(f"row {number}: {key} is missing in {language}")
            parts.append(f"{language} = {_text(str(text))}")
        return "{ " + ", ".join(parts) + " }"


def _text(value: Any) -> str:
    """A value in TOML, whose texts and lists are written as in JSON."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
