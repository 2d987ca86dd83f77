"""discreet audit: is the release what its manifest says?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.engine import EngineName, Master, opened
from discreet.cli.terminal import AUDIT_FAILED, command, emit


@command
def audit_command(
    path: Annotated[Path, typer.Argument(help="A released CSV or Parquet file, or a folder.")],
    attack: Annotated[
        bool, typer.Option("--attack", help="Also attack every mechanism with simulated reports.")
    ] = False,
    key: Annotated[
        Path | None, typer.Option("--key", help="The steward's public key (PEM): the release must be signed with it.")
    ] = None,
    samples: Annotated[int, typer.Option(min=100, help="Simulated reports per true value.")] = 200_000,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Recompute the guarantee from the manifest's integers and the digest of every column; check who signed.

    Without --key the audit finds what does not fit together. A manifest that was rewritten with everything that
    depends on it can only be told by a signature. Exit code 3 when something that was checked does not hold.
    """
    from discreet.audit import attack as attack_mechanism
    from discreet.audit import attackable, audit

    release = opened(path, engine, master)
    report = audit(release, public_key=key)
    text, data, passed = [report.summary()], report.to_dict(), report.passed
    if attack:
        data["attacks"] = []
        for block in release.manifest.blocks:
            targets, left_out = attackable(block)
            if left_out:
                text.append(f"\n{', '.join(block.columns)}\n{left_out}")
                data["attacks"].append({"columns": list(block.columns), "design": None, "left_out": left_out})
            for target in targets:
                result = attack_mechanism(target.mechanism, samples)
                label = ", ".join(target.columns) + (f" ({block.by} = {target.design})" if target.design else "")
                text.append(f"\n{label}\n{result.summary()}")
                data["attacks"].append({"columns": list(target.columns), "design": target.design} | result.to_dict())
                passed &= result.passed
    emit("\n".join(text), data | {"passed": passed}, as_json)
    if not passed:
        raise typer.Exit(AUDIT_FAILED)
