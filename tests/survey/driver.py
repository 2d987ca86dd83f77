"""A respondent: goes through the page as a person does, and what the page sends on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Chance from a seed, in place of the generator of the browser; set before the page runs.
FIXED_CHANCE = """
let state = BigInt(SEED) * 2654435761n + 1n;
globalThis.bytesDrawn = 0;
crypto.getRandomValues = (array) => {
  globalThis.bytesDrawn += array.length;
  for (let i = 0; i < array.length; i += 1) {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    array[i] = Number(state >> 56n);
  }
  return array;
};
"""

ADDRESS = "http://survey.example/"


@dataclass
class Wire:
    """A collector of paper: serves a page, takes every request down, and answers as it is told."""

    content: bytes
    status: int = 201
    requests: list = field(default_factory=list)

    def attach(self, context):
        context.route("**/*", self._answer)

    def _answer(self, route):
        request = route.request
        headers = tuple(sorted(request.all_headers().items()))
        self.requests.append((request.method, request.url, headers, request.post_data))
        if request.method == "GET":
            route.fulfill(body=self.content, content_type="text/html; charset=utf-8")
        elif self.status == 0:
            route.abort()
        else:
            route.fulfill(status=204 if request.method == "DELETE" else self.status)

    @property
    def sent(self):
        """What was sent beyond loading the page."""
        return [request for request in self.requests if request[0] != "GET"]


def opened(browser, wire, *, seed=None, fragment="", **options):
    """A page of its own, with storage of its own."""
    context = browser.new_context(**options)
    if seed is not None:
        context.add_init_script(FIXED_CHANCE.replace("SEED", str(seed)))
    if wire is not None:
        wire.attach(context)
    page = context.new_page()
    page.goto(ADDRESS + fragment)
    return page


def begin(page):
    """Agree, and skip the practice round."""
    page.click("#welcomeScreen button.primary")
    page.click("#practiceScreen .actions button:last-child")


def give(page, answer):
    """Answer the question that is shown: a code, a number as text, or None to leave it out."""
    if page.locator("#questionScreen input[type=radio]").count():
        page.check(f'#questionScreen input[value="{"" if answer is None else answer}"]')
    elif page.locator("#questionScreen select#answer").count():
        page.select_option("#answer", "" if answer is None else str(answer))
    elif answer is None:
        page.check("#questionScreen input[type=checkbox]")
    else:
        page.fill("#answer", str(answer))


def forward(page):
    """Next, or send."""
    page.click("#questionScreen button[type=submit]")


def respond(page, answers, wait="#doneScreen"):
    """From the first screen to the last."""
    begin(page)
    for answer in answers:
        give(page, answer)
        forward(page)
    if wait:
        page.wait_for_selector(wait)
