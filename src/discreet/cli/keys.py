"""discreet keys: with what a steward signs releases, and others check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.terminal import command, emit

keys_app = typer.Typer(no_args_is_help=True, help="Keys that sign releases (discreet release --sign).")


@keys_app.callback()
def _keys() -> None:
    """Keys that sign releases (discreet release --sign)."""


@keys_app.command("new")
@command
def new_command(
    path: Annotated[Path, typer.Argument(help="Where to write the private key, e.g. steward.pem.")],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Encrypt the private key; the passphrase is asked for.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make an Ed25519 key pair: a private key that only you can read, and a public key to hand out.

    Publish the public key where nobody else can change it, and apart from the releases: whoever can replace both
    the key and the release is not found out.
    """
    from discreet.manifest.signature import PublicKey, new_keys

    secret = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True) if passphrase else None
    private, public = new_keys(path, secret)
    text = (
        f'Wrote "{private}" (private: keep it, mode 0600) and "{public}" (public: hand it out).\n'
        f"Sign with:  discreet release data.parquet plan.toml -o out.parquet --sign {private}\n"
        f"Check with: discreet audit out.parquet --key {public}"
    )
    data = {"private": str(private), "public": str(public), "public_key": PublicKey.read(public).hex}
    emit(text, data, as_json, made=f'the keys "{private}" and "{public}" were made')
