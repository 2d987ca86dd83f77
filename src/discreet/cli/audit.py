"""discreet audit: is the release what its manifest says?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.terminal import AUDIT_FAILED, command, emit


@command
def audit_command(
    path: Annotated[Path, typer.Argument(help="A released CSV or Parquet file.")],
    attack: Annotated[
        bool, typer.Option("--attack", help="Also attack every mechanism with simulated reports.")
    ] = False,
    samples: Annotated[int, typer.Option(min=100, help="Simulated reports per true value.")] = 200_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Recompute the guarantee from the manifest's integers, and optionally attack the mechanisms.

    Exit code 3 when the release is less private than its manifest says.
    """
    from discreet.audit import attack as attack_mechanism
    from discreet.audit import audit
    from discreet.manifest import Release

    release = Release.open(path)
    report = audit(release)
    text, data, passed = [report.summary()], report.to_dict(), report.passed
    if attack:
        data["attacks"] = []
        for block in release.manifest.blocks:
            for name, mechanism in (dict(block.designs) if block.by else {"": block.mechanism}).items():
                result = attack_mechanism(mechanism, samples)  # type: ignore[arg-type]  # finite in this version
                label = ", ".join(block.columns) + (f" ({block.by} = {name})" if name else "")
                text.append(f"\n{label}\n{result.summary()}")
                data["attacks"].append({"columns": list(block.columns), "design": name or None} | result.to_dict())
                passed &= result.passed
    emit("\n".join(text), data | {"passed": passed}, as_json)
    if not passed:
        raise typer.Exit(AUDIT_FAILED)
