"""The page as one file: the same plan gives the same bytes, and a policy in it lets nothing else run or connect."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from discreet.errors import PlanError
from discreet.plain_text import one_line
from discreet.survey.odds import procedure_of
from discreet.survey.questionnaire import Questionnaire, canonical
from discreet.survey.wording import asset, wording

#: What an address is written with: no space, quote, control character, query or fragment.
_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"'<>\\^`{|}?#]+", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"@([A-Z]+)@")


@dataclass(frozen=True)
class Page:
    """A page and what may be said about it.

    Attributes
    ----------
    content : bytes
        HTML with its style, its script and the survey inside.
    policy : str
        Its content security policy, which is also in it.
    """

    content: bytes
    policy: str

    @property
    def sha256(self) -> str:
        """The digest by which others recognise it."""
        return hashlib.sha256(self.content).hexdigest()


def build_page(survey: Questionnaire, collector: str | None = None, *, test: bool = False) -> Page:
    """The page of a survey.

    Parameters
    ----------
    survey : Questionnaire
        What is asked.
    collector : str, optional
        The address that reports go to; by default the one that the page came from. With it the page can be hosted by
        somebody else.
    test : bool
        Say on the page that nothing counts.

    Examples
    --------
    >>> from discreet.survey import TEMPLATE
    >>> survey = Questionnaire.parse(TEMPLATE)
    >>> build_page(survey).sha256 == build_page(Questionnaire.parse(TEMPLATE)).sha256
    True
    """
    first = survey.collect.languages[0]
    words = {language: wording(language) for language in survey.collect.languages}
    if (reason := undrawn(survey)) is not None:
        raise PlanError(reason)
    address = "" if collector is None else checked_collector(collector)
    data = {**survey.data, "design": survey.design, "words": words, "collector": address, "test": test}
    connect = "'self'" if collector is None else "{0.scheme}://{0.netloc}".format(urlsplit(address))
    script, style = page_script(canonical(data)), asset("page.css")
    policy = policy_of(script, style, connect)
    content = fill(
        asset("page.html"),
        LANGUAGE=first,
        DIRECTION=words[first]["dir"],
        TITLE=html.escape(survey.data["title"][first]),
        POLICY=html.escape(policy, quote=False),
        STYLE=style,
        NOSCRIPT="".join(
            f'<p lang="{one}" dir="{said["dir"]}">{html.escape(said["noscript"])}</p>' for one, said in words.items()
        ),
        SCRIPT=script,
    )
    return Page(content.encode(), policy)


def undrawn(survey: Questionnaire) -> str | None:
    """Why a survey has no page: chance that is in the respondent's own hands would be another procedure on a device."""
    for name, mechanism in survey.channels():
        how = procedure_of(mechanism)
        if how is not None and how.name != "direct" and f"by_{how.name}" not in wording("en"):
            return (
                f'"{one_line(name)}": {how.name} needs a harmless statement or cards that only the respondent sees, '
                "which a page cannot draw; print it with discreet survey instructions, or name a mechanism for a "
                "device, such as randomized-response"
            )
    return None


def notice_page(survey: Questionnaire, state: str, day: str = "") -> Page:
    """What is shown in place of the questions before a survey opens and after it is closed."""
    words = {language: wording(language) for language in survey.collect.languages}
    first = survey.collect.languages[0]
    style = asset("page.css")
    policy = policy_of("", style, "'none'")
    body = "".join(
        f'<section lang="{one}" dir="{said["dir"]}"><h{1 if one == first else 2}>{html.escape(said[state])}'
        f"</h{1 if one == first else 2}><p>{html.escape(said[f'{state}_text'].format(day=day))}</p></section>"
        for one, said in words.items()
    )
    content = fill(
        asset("notice.html"),
        LANGUAGE=first,
        DIRECTION=words[first]["dir"],
        TITLE=html.escape(survey.data["title"][first]),
        POLICY=html.escape(policy, quote=False),
        STYLE=style,
        BODY=body,
    )
    return Page(content.encode(), policy)


def page_script(data: str) -> str:
    """The survey, the sampler and the page, as one script; no text in the survey can end it."""
    sampler = re.sub(r"^export ", "", asset("sampler.js"), flags=re.MULTILINE)
    body = re.sub(r"^import .*\n", "", asset("page.js"), flags=re.MULTILINE)
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'"use strict";\nconst SURVEY = {safe};\n{sampler}\n{body}'


def policy_of(script: str, style: str, connect: str) -> str:
    """Nothing is loaded, nothing runs but this script, and it may speak to the collector alone."""
    scripts = f"'sha256-{_digest(script)}'" if script else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'sha256-{_digest(style)}'; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )


def fill(template: str, **parts: str) -> str:
    """A template with its places filled, each once; what is filled in is not looked at again."""
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], template)


def sampler_source() -> str:
    """The sampler as an ES module of its own, for whoever has another page.

    >>> "export function report(" in sampler_source()
    True
    """
    return asset("sampler.js")


def checked_collector(address: str) -> str:
    """An address that reports can be sent to, without a slash at its end."""
    found = web_address(address)
    parts = urlsplit(found or "")
    secure = parts.scheme == "https" or parts.hostname in ("127.0.0.1", "localhost", "::1")
    if found is None or not secure:
        raise PlanError(
            "the collector must be an address such as https://collect.example.org (http only on this machine)"
        )
    return found


def web_address(address: str) -> str | None:
    """An address of the web without a slash at its end; None where it is another, or something can follow it.

    >>> web_address("https://survey.example.org/")
    'https://survey.example.org'
    >>> web_address("javascript:alert(1)"), web_address("https://a.example/?b"), web_address("http://[::1")
    (None, None, None)
    """
    try:
        parts = urlsplit(address)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or not _ADDRESS.fullmatch(address) or "@" in parts.netloc:
        return None
    return address.rstrip("/")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
