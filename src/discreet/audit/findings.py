"""What an audit found, and what it could not find out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["ok", "warning", "failure", "unchecked"]

#: What stays open whatever is checked.
BEYOND = (
    "whether the true answers went through these mechanisms, with chance from the stated source",
    "whether nobody has more rows than declared, unless the manifest says that it was checked",
    "what public columns, other releases of the same truth or other sources say about a person",
)


@dataclass(frozen=True)
class Finding:
    """One line of an audit: what was looked at, how it came out, and the figures."""

    subject: str
    verdict: Verdict
    detail: str

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"subject": self.subject, "verdict": self.verdict, "detail": self.detail}


@dataclass(frozen=True)
class Audit:
    """All findings about one release.

    A verdict is "ok", "warning" (true, and worth knowing), "failure" (the manifest is contradicted) or "unchecked"
    (there was nothing to check it with).
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed; warnings and open questions may remain."""
        return all(finding.verdict != "failure" for finding in self.findings)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Subjects that could have been checked, had there been something to check them with."""
        return tuple(finding.subject for finding in self.findings if finding.verdict == "unchecked")

    def summary(self) -> str:
        """A table for people, then what it does and does not mean."""
        lines = [f"{finding.verdict.upper():9} {finding.subject}: {finding.detail}" for finding in self.findings]
        lines.append("")
        lines.append("Everything that was checked fits the manifest." if self.passed else "THE AUDIT FAILED.")
        if self.unchecked:
            lines.append(f"Not checked: {', '.join(self.unchecked)}.")
        lines.append("No audit can tell:")
        lines.extend(f"  {sentence}" for sentence in BEYOND)
        return "\n".join(lines)

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "passed": self.passed,
            "findings": [finding.to_dict() for finding in self.findings],
            "unchecked": list(self.unchecked),
            "beyond": list(BEYOND),
        }
