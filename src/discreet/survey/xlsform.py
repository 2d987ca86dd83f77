"""From an XLSForm to a survey: the spreadsheet that ODK, Kobo and SurveyCTO read, with a column of privacy levels.

A question with a number under ``discreet::epsilon`` is private; all others are public. ``discreet::mechanism`` names a
mechanism of a plan. What cannot be asked so that a report gives nothing away is refused with its row: free text,
several choices at once, and questions or choices that depend on an answer. What a survey does without (notes,
calculations, looks, default answers) is left out, and listed.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from dataclasses import dataclass, field
from typing import Any

from discreet import arguments
from discreet.errors import PlanError, ReleaseError
from discreet.mechanisms.procedures import PARAMETERS
from discreet.survey.needs import needed
from discreet.survey.spreadsheet import measured
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
#: Types of questions that exist in XLSForms and have answers without a list of values.
_UNLISTED = {
    "text",
    "select_multiple",
    "select_one_from_file",
    "select_multiple_from_file",
    "rank",
    "image",
    "audio",
    "video",
    "file",
    "geopoint",
    "geotrace",
    "geoshape",
    "barcode",
    "date",
    "time",
    "datetime",
    "dateTime",
}
#: Columns that are read; a value under any other is left out, and said.
_READ = {"type", "name", "label", "hint", "required", "relevant", "choice_filter", "constraint", "parameters"}
_BOUND = re.compile(r"\.\s*(>=|<=|>|<)\s*(-?\d+(?:\.\d+)?)")
_LANGUAGE = re.compile(r"\(([a-z]{2,3})\)\s*$|^([a-z]{2,3})$")


@dataclass
class Imported:
    """A plan made from a form, and what was left out of it."""

    plan: str
    left_out: list[str] = field(default_factory=list)


def read_xlsform(path: str | os.PathLike[str]) -> Imported:
    """The survey of a form as a plan, in TOML."""
    needed("pyxform", "xlsform")
    from pyxform.xls2json_backends import get_xlsform

    file = arguments.path(path, "path", ReleaseError)
    content, kind = measured(file)
    try:
        form = get_xlsform(io.BytesIO(content), file_type=kind)
    except Exception as error:  # whatever a foreign reader makes of foreign bytes
        raise ReleaseError(f'"{file.name}" cannot be read as an XLSForm ({type(error).__name__})') from None
    sheets = {
        name: [dict(row) for row in getattr(form, name, None) or []] for name in ("survey", "choices", "settings")
    }
    return _Form(sheets, file.stem).imported()


class _Form:
    """The rows of a form on their way to a plan."""

    def __init__(self, sheets: dict[str, list[dict[str, Any]]], name: str) -> None:
        # As a spreadsheet counts them: the first has the names of the columns, and rows may be empty.
        self.numbered = [(i, row) for i, row in enumerate(sheets["survey"], start=2) if row.get("type")]
        self.rows = [row for _, row in self.numbered]
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
        if found and any("label" in row for row in self.rows):
            raise PlanError("column label: say which language it is, as in label::English (en); other labels do")
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
        for number, row in self.numbered:
            kind = " ".join(str(row["type"]).split())
            if kind in _PARADATA or kind in _STRUCTURE:
                self.left_out.append(f"row {number} ({kind})")
                continue
            self._refuse(row, kind, number)
            ignored = [key for key in row if key.split("::")[0] not in _READ and not key.startswith("discreet::")]
            self.left_out += [f"row {number} ({key})" for key in ignored]
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
        for column, what in (("relevant", "a question"), ("choice_filter", "the choices")):
            if str(row.get(column) or "").strip():
                raise PlanError(
                    f"row {number}: {column} makes {what} depend on an answer, which can give that away; a survey asks "
                    "everybody every question with all its choices"
                )
        first, *rest = kind.split()
        if first in _UNLISTED:
            raise PlanError(
                f"row {number}: {first} cannot be randomised; use select_one, integer with bounds, or range"
            )
        if "repeat" in kind:
            raise PlanError(f"row {number}: {kind[:40]} asks a person several times; a survey asks every question once")
        if first not in ("select_one", "integer", "decimal", "range"):
            raise PlanError(f"row {number}: {kind[:40]} is not a kind of question that a survey has")
        if first == "select_one" and "or_other" in rest:
            raise PlanError(f"row {number}: or_other asks for free text, which cannot be randomised; list the choices")
        if first == "select_one" and str(row.get("constraint") or "").strip():
            raise PlanError(f"row {number}: a constraint on choices is not available; list those that may be chosen")

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
        if mechanism in PARAMETERS:
            raise PlanError(
                f"row {number}: {mechanism} is a procedure with chances of its own, which a form cannot state; write "
                f"it into the plan in place of mechanism and epsilon, as {mechanism} = …"
            )
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
        low, high = self._bounds(row, number)
        low, high = float(given.get("start", low)), float(given.get("end", high))
        step = float(given.get("step", 1))
        if not (math.isfinite(low) and math.isfinite(high)):
            raise PlanError(f"row {number}: a number needs bounds, as constraint (. >= 0 and . <= 20) or as a range")
        if step <= 0 or high <= low:
            raise PlanError(f"row {number}: a range needs a step above 0, and an end above its start")
        whole = round((high - low) / step)
        if not math.isclose(whole * step, high - low, rel_tol=1e-9):
            raise PlanError(f"row {number}: steps of {step:g} from {low:g} do not end at {high:g}")
        return f"grid = {{ low = {low!r}, high = {high!r}, points = {whole + 1} }}"

    def _bounds(self, row: dict[str, Any], number: int) -> tuple[float, float]:
        """What a constraint says about a number, and nothing else may be said there."""
        text = str(row.get("constraint") or "").strip()
        low, high, integer = -math.inf, math.inf, str(row["type"]).strip() == "integer"
        for part in re.split(r"\s+and\s+", text) if text else []:
            found = _BOUND.fullmatch(part.strip().strip("()").strip())
            if found is None or (found[1] in "<>" and not integer):
                raise PlanError(
                    f"row {number}: only bounds are understood in a constraint, as in . >= 0 and . <= 20"
                    + ("" if integer else " (with < and > for integer alone)")
                )
            bound = float(found[2]) + {">": 1, "<": -1}.get(found[1], 0)  # above 0 is at least 1
            low, high = (max(low, bound), high) if found[1][0] == ">" else (low, min(high, bound))
        return low, high

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
