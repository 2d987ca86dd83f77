"""The reference: one page for every public module and name, from what the modules export.

A name that is exported has a page, because the pages are made from the exports.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

import discreet

#: Public modules, and how the reference introduces them.
MODULES = {
    "discreet": "domains, guarantees, plans and releases",
    "discreet.privacy": "what is promised, and proof of it",
    "discreet.mechanisms": "how one value, or one record, is randomised",
    "discreet.design": "which mechanism is best for a purpose, and how many people it takes",
    "discreet.estimate": "what can be learned from reports, with error bars",
    "discreet.plots": "pictures",
    "discreet.engines": "where the work runs",
    "discreet.audit": "is a release what its manifest says?",
    "discreet.learning": "models under a promise",
    "discreet.learning.losses.rows": "corrected rows and tables for networks, with numpy alone",
    "discreet.learning.losses.pytorch": "losses of reports for PyTorch",
    "discreet.learning.losses.jax_numpy": "losses of reports for JAX",
    "discreet.survey": "questions to people, randomised on their own devices",
    "discreet.errors": "everything that is raised on purpose",
}


#: Names that have their page with the top level, wherever else they can be imported from.
_TOP = frozenset(discreet.__all__)


def public(module: ModuleType) -> dict[str, list[str]]:
    """The exported names of a module, by what they are."""
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Modules": [], "Constants": []}
    for name in module.__all__:
        thing = getattr(module, name)
        if name.startswith("__") or (module.__name__ == "discreet" and inspect.ismodule(thing)):
            continue
        if module.__name__ not in ("discreet", "discreet.errors") and name in _TOP:
            continue  # on the page of the top level
        if inspect.isclass(thing):
            if module.__name__ == "discreet" and issubclass(thing, Exception):
                continue  # on the page of errors
            groups["Classes"].append(name)
        elif inspect.ismodule(thing):
            groups["Modules"].append(name)
        elif callable(thing):
            groups["Functions"].append(name)
        else:
            groups["Constants"].append(name)
    return {group: sorted(names, key=str.lower) for group, names in groups.items() if names}


def _page(name: str, module: ModuleType, about: str) -> str:
    lines = [f"# {name}", "", f"{about[:1].upper()}{about[1:]}.", ""]
    above = [one for one in module.__all__ if name != "discreet" and one in _TOP]
    if above:
        linked = ", ".join(f"{{py:obj}}`discreet.{one}`" for one in above)
        lines += [f"Also at the top level, and described there: {linked}.", ""]
    for group, names in public(module).items():
        lines += [f"## {group}", "", "```{eval-rst}", f".. currentmodule:: {name}", ""]
        if group == "Modules":
            for one in names:
                inner = getattr(module, one)
                listed = getattr(inner, "__all__", None) or [n for n in vars(inner) if not n.startswith("_")]
                chosen = [n for n in listed if getattr(getattr(inner, n), "__module__", "").startswith("discreet")]
                lines += [f".. currentmodule:: {inner.__name__}", ""]
                lines += [".. autosummary::", "   :toctree: generated", "", *(f"   {n}" for n in chosen), ""]
        else:
            lines += [".. autosummary::", "   :toctree: generated", "", *(f"   {one}" for one in names), ""]
        lines += ["```", ""]
    return "\n".join(lines)


def _present() -> dict[str, str]:
    """The modules of this version, in order."""
    found = {}
    for name, about in MODULES.items():
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("discreet."):
                raise
            continue
        if hasattr(module, "__all__"):
            found[name] = about
    return found


def write_reference(folder: Path) -> list[str]:
    """Write the pages that Sphinx reads; those that are right already are left alone, so that nothing is rebuilt."""
    folder.mkdir(exist_ok=True)
    present = _present()
    pages = {f"{name.replace('.', '_')}.md": _page(name, import_module(name), present[name]) for name in present}
    listed = "\n".join(f"{name.replace('.', '_')}" for name in present)
    rows = "\n".join(f"| [`{name}`]({name.replace('.', '_')}.md) | {about} |" for name, about in present.items())
    pages["index.md"] = (
        "# Reference\n\nEvery public name, with its parameters, what it returns and where its formula comes from.\n\n"
        f"| module | what it holds |\n| --- | --- |\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return sorted(str(folder / name) for name in pages)
