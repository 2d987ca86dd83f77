"""A thousand people in a real browser, from the page to the audit: ``python -m experiments.survey.respondents``.

Every one opens the page that the collector serves, in a context of the browser's own (storage and connections are not
shared), agrees, and answers by clicks and keys. Some do more than that: they practise, go back and change an answer,
load the page again in the middle, answer without a network, or take their report back. The survey is closed, audited
and estimated; the truth is known here, so the intervals can be judged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Release, estimate
from discreet.audit import audit
from discreet.survey import TEMPLATE

#: What a person does beyond answering, and how often: of 20 people.
HABITS = {"practise": 3, "change": 3, "reload": 2, "offline": 2, "withdraw": 1, "nothing": 9}
HOURS = (0, 5, 10, 15, 20)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def people(count: int, generator: np.random.Generator) -> list[tuple[int, int, int, str]]:
    """Year, whether they cheated, hours of preparation, and what they do on the way."""
    habits = [name for name, share in HABITS.items() for _ in range(share)]
    year = generator.integers(0, 3, count)
    cheated = generator.random(count) < np.array([0.15, 0.3, 0.45])[year]
    hours = np.clip(generator.geometric(0.35, count) - 1, 0, 4)
    chosen = [habits[i] for i in generator.integers(0, len(habits), count)]
    return [(int(a), int(b), HOURS[c], d) for a, b, c, d in zip(year, cheated, hours, chosen, strict=True)]


async def answer(page: Any, value: int | str) -> None:
    """The question that is shown."""
    if await page.locator("#questionScreen input[type=radio]").count():
        await page.check(f'#questionScreen input[value="{value}"]')
    else:
        await page.fill("#answer", str(value))
    await page.click("#questionScreen button[type=submit]")


async def begin(page: Any, *, practise: bool) -> None:
    await page.click("#welcomeScreen button.primary")
    if practise:
        await page.check("#practiceScreen input[value='1']")
        await page.click("#practiceScreen button.primary")
    await page.click("#practiceScreen .actions button:last-child")


async def respond(context: Any, address: str, person: tuple[int, int, int, str]) -> None:
    """From the first screen to the last."""
    year, cheated, hours, habit = person
    page = await context.new_page()
    await page.goto(address)
    await begin(page, practise=habit == "practise")
    await answer(page, year)
    if habit == "reload":  # nothing was kept, so it begins again
        await page.reload()
        await begin(page, practise=False)
        await answer(page, year)
    if habit == "change":
        await answer(page, 1 - cheated)
        await page.click("#questionScreen button.secondary")
    await answer(page, cheated)
    if habit == "offline":
        await context.set_offline(True)
    await answer(page, hours)
    if habit == "offline":
        await page.wait_for_selector("#waitingScreen")
        await context.set_offline(False)
    await page.wait_for_selector("#doneScreen")
    if habit == "withdraw":
        await page.click("#doneScreen .actions button")
        await page.click("button.danger")
        await page.wait_for_selector("#withdrawnScreen")


async def all_of_them(address: str, crowd: list[tuple[int, int, int, str]], at_once: int) -> None:
    """Several at a time, in one browser."""
    from playwright.async_api import async_playwright

    path = next(found for name in BROWSERS if (found := shutil.which(name)))
    waiting = iter(enumerate(crowd, start=1))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run"]
        )

        async def worker() -> None:
            for number, person in waiting:
                context = await browser.new_context(viewport={"width": 400, "height": 800}, reduced_motion="reduce")
                await respond(context, address, person)
                await context.close()
                if number % 100 == 0:
                    print(f"{number:,} people", file=sys.stderr, flush=True)

        await asyncio.gather(*(worker() for _ in range(at_once)))
        await browser.close()


def told(release: Release, kept: list[tuple[int, int, int, str]]) -> list[tuple[str, float, float, float, float]]:
    """Every share that the release estimates, with the truth of those whose reports were kept."""
    rows = []
    truths = {"cheated": (["no", "yes"], [p[1] for p in kept]), "hours": (HOURS, [HOURS.index(p[2]) for p in kept])}
    for column, (labels, codes) in truths.items():
        result = estimate.frequencies(release, column)
        share = np.bincount(codes, minlength=len(labels)) / len(kept)
        for label, truth, found, (low, high) in zip(labels, share, result.estimate, result.interval(), strict=True):
            rows.append((f"{column} = {label}", float(truth), float(found), float(low), float(high)))
    return rows


def served(plan: Path, *options: str) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    command = [sys.executable, "-m", "discreet", "survey", "serve", str(plan), "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=6, help="pages that are open at the same time")
    parser.add_argument("--seed", type=int, default=18)
    chosen = parser.parse_args()
    crowd = people(chosen.people, np.random.default_rng(chosen.seed))
    with tempfile.TemporaryDirectory() as scratch:
        plan, output = Path(scratch) / "survey.toml", Path(scratch) / "out.parquet"
        plan.write_text(TEMPLATE, encoding="utf-8")
        process, first = served(plan)
        begun = time.monotonic()
        asyncio.run(all_of_them(first["address"], crowd, chosen.at_once))
        seconds = time.monotonic() - begun
        process.send_signal(signal.SIGTERM)
        process.wait()
        command = [sys.executable, "-m", "discreet", "survey", "close", str(plan), "-o", str(output), "--json"]
        closed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        release = Release.open(output)
        checked = audit(release)
        kept = [person for person in crowd if person[3] != "withdraw"]
        rows = told(release, kept)
    habits = ", ".join(f"{name} {count}" for name, count in Counter(person[3] for person in crowd).items())
    print(f"{len(crowd):,} people through the page in {seconds:.0f} s ({habits})")
    print(f"released {closed['rows']:,}, expected {len(kept):,}; audit {'passed' if checked.passed else 'FAILED'}\n")
    print(f"{'share':16}{'truth':>8}{'estimate':>10}   95 % interval")
    for name, truth, found, low, high in rows:
        print(
            f"{name:16}{truth:8.3f}{found:10.3f}   {low:.3f} to {high:.3f}{'' if low <= truth <= high else '   missed'}"
        )
    missed = sum(not low <= truth <= high for _, truth, _, low, high in rows)
    print(f"\n{len(rows) - missed} of {len(rows)} intervals hold the truth")
    # Five shares of one column depend on each other; more than two misses of seven would be no accident.
    return int(closed["rows"] != len(kept) or not checked.passed or missed > 2)


if __name__ == "__main__":
    sys.exit(main())
