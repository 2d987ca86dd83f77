"""One page for the ethics board: what is asked, what leaves the device, what is stored, what that can reveal."""

from __future__ import annotations

import re
from html import escape

from discreet.survey.checking import Checked, said_odds
from discreet.survey.page import fill
from discreet.survey.wording import asset

#: Who could do what, and what stands against it. Said as it is.
_MISUSE = (
    (
        "Whoever serves or hosts the page",
        "could serve another page to one person, and read the answers.",
        "One file with a published SHA-256 that anybody can compare (discreet survey verify); others may host it.",
    ),
    (
        "Whoever runs the collector",
        "sees reports and network addresses, never answers; until closing could try to connect a report with an "
        "invitation by their order.",
        "No addresses, agents or times are kept; reports and codes are stored apart; the order is erased at closing.",
    ),
    (
        "Whoever copies the database before closing, or keeps its backups",
        "has what the collector has.",
        "Keep no backups of a running survey; the reports stay randomised in any case.",
    ),
    (
        "Whoever reads the published file",
        "learns at most what is stated under “What a report can reveal”.",
        "The promise holds whatever else is known, for ever.",
    ),
    (
        "Whoever else uses the respondent's device",
        "can see the report and the receipt, not the answers.",
        "Answers and chance are kept in memory only and forgotten when the report is made.",
    ),
    (
        "Respondents and strangers",
        "can send made-up reports; with open access, many of them.",
        "Invitations are used once; estimates can be widened to hold under a share of made-up reports.",
    ),
)


def ethics_sheet(checked: Checked) -> str:
    """The page as HTML."""
    survey = checked.survey
    language = survey.collect.languages[0]
    odds = dict(said_odds(survey, language))
    drawn = "randomised on the device" if checked.page else "randomised by the respondent, by hand"
    asked = "".join(
        f"<tr><td>{escape(question.text[language])}</td>"
        f"<td>{drawn if question.private else 'as answered'}</td>"
        f"<td>{escape(odds.get(question.column, ''))}</td></tr>"
        for question in survey.questions
    )
    stored = [
        "The report, under a digest of a random number that only the respondent's receipt has.",
        "Counts per day.",
    ]
    if survey.invited:
        stored.insert(1, "A digest of every invitation code, and whether it was used.")
    leaves = f"One request: a random number, the digest of the design, {survey.length} digits" + (
        ", and the invitation code." if survey.invited else "."
    )
    if checked.page is None:
        leaves = "Nothing: people answer by hand, and say or write only what the procedure gives."
    misuse = "".join(
        f"<tr><th scope=row>{escape(who)}</th><td>{escape(what)}</td><td>{escape(against)}</td></tr>"
        for who, what, against in _MISUSE
    )
    # A line that is set in goes on with the one before it.
    told = re.sub(r"\n\s+", " ", survey.plan.guarantee.explain())
    reveal = "".join(f"<li>{escape(line)}</li>" for line in told.splitlines())
    margins = "".join(
        f"<li>{escape(name)}: ± {value:.1%}</li>"
        if isinstance(value, float)
        else f"<li>{escape(name)}: {escape(value)}</li>"
        for name, each in checked.margins.items()
        for value in each.values()
    )
    return fill(
        asset("sheet.html"),
        TITLE=escape(survey.title),
        CONTACT=escape(survey.collect.contact or "not given"),
        ACCESS="one-time invitations" if survey.invited else "open: whoever has the address; the promise is per report",
        LEAVES=escape(leaves),
        STORED="".join(f"<li>{escape(one)}</li>" for one in stored),
        ASKED=asked,
        REVEAL=reveal,
        PEOPLE=f"{checked.people:,}",
        MARGINS=margins,
        CELLS=escape(
            f"{checked.cells:,} combinations of public answers; fewer than {survey.collect.smallest_cell} people in "
            "one are not shown, and not released without a decision."
        ),
        MISUSE=misuse,
        DESIGN=survey.design,
        PAGE=checked.page.sha256 if checked.page else "none: asked by hand",
    )
