import { coin, denominator, report, secureBytes } from "./sampler.js";

// What a respondent answers lives in `answers`, and chance in `tosses`: in memory only, and both are forgotten as soon
// as the report is made. The report, which is what the collector sees, may be stored on the device.

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const invitation = decodeURIComponent(location.hash.slice(1)).replace(/[^0-9A-Za-z]/g, "").toUpperCase();
const storageKey = `discreet.${SURVEY.design.slice(0, 16)}.${SURVEY.access === "open" ? "open" : invitation}`;
const FULL = 507; // the survey has all reports that it takes
const PRACTICE = { kind: "binary", rows: [["3", "1"], ["1", "3"]] };

// Chance comes first: what is drawn depends on the survey alone, and changing an answer changes no coin.
let id = hex(secureBytes(16));
let modes = SURVEY.assigned.map((designs) => Number(coin(BigInt(designs.length))));
let tosses = SURVEY.blocks.map((block) =>
  block.channels.map((channel) => {
    const sides = denominator(channel);
    return (block.together ? [0] : block.questions).map(() => coin(sides));
  }),
);
let answers = SURVEY.questions.map(() => undefined); // a code; null where it is left out
let typed = SURVEY.questions.map(() => "");
let place = 0;
let language = preferred();
let current;

function preferred() {
  for (const wish of navigator.languages || []) {
    const found = SURVEY.languages.find((one) => one.toLowerCase() === wish.toLowerCase().slice(0, one.length));
    if (found) return found;
  }
  return SURVEY.languages[0];
}

function say(key, values = {}) {
  return SURVEY.words[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// ---------------------------------------------------------------------------------------------- the report

const truthOf = (question) =>
  answers[question] === null ? (SURVEY.questions[question].blank_drawn ? SURVEY.questions[question].size : 0) : answers[question];

function reportCodes() {
  const codes = [...SURVEY.questions.map((question, i) => (answers[i] === null ? question.blank : answers[i])), ...modes];
  SURVEY.blocks.forEach((block, b) => {
    const design = block.by === null ? 0 : block.designs[codes[block.by]];
    const channel = block.channels[design];
    if (block.together) {
      const cell = block.questions.reduce((sum, question, i) => sum * block.sizes[i] + truthOf(question), 0);
      let drawn = report(channel, cell, tosses[b][design][0]);
      [...block.questions.keys()].reverse().forEach((i) => {
        codes[block.questions[i]] = drawn % block.sizes[i];
        drawn = Math.floor(drawn / block.sizes[i]);
      });
    } else {
      block.questions.forEach((question, i) => {
        codes[question] = report(channel, truthOf(question), tosses[b][design][i]);
      });
    }
    // Where a blank is public, it is published as it is.
    for (const question of block.questions) {
      if (answers[question] === null && !SURVEY.questions[question].blank_drawn) codes[question] = SURVEY.questions[question].blank;
    }
  });
  return codes;
}

function finished() {
  const widths = [...SURVEY.questions.map((question) => question.width), ...SURVEY.assigned.map((one) => String(one.length - 1).length)];
  const codes = reportCodes();
  const text = codes.map((code, i) => String(code).padStart(widths[i], "0")).join("");
  const body = { design: SURVEY.design, report: text };
  if (SURVEY.access === "invitation") body.code = invitation;
  const made = { id, codes, body: JSON.stringify(body) };
  answers = answers.map(() => undefined);
  typed = typed.map(() => "");
  tosses = [];
  return made;
}

// ---------------------------------------------------------------------------------------- storage and network

let memory = null;
const stored = {
  get() {
    try {
      return JSON.parse(localStorage.getItem(storageKey)) || memory;
    } catch {
      return memory;
    }
  },
  set(value) {
    memory = value;
    try {
      if (value === null) localStorage.removeItem(storageKey);
      else localStorage.setItem(storageKey, JSON.stringify(value));
    } catch {
      // A browser that stores nothing keeps it until the page is closed.
    }
  },
};

function ask(method, receipt, body) {
  const address = new URL(`reports/${receipt}`, SURVEY.collector ? `${SURVEY.collector}/` : location.href.split("#")[0]);
  return fetch(address, {
    method,
    body,
    headers: body ? { "content-type": "application/json" } : {},
    credentials: "omit",
    referrerPolicy: "no-referrer",
    cache: "no-store",
  });
}

let timer;
let pause = 5;
let busy = false;

async function submit() {
  const kept = stored.get();
  if (!kept || kept.sent || busy) return;
  busy = true;
  clearTimeout(timer);
  let status = 0;
  try {
    status = (await ask("PUT", kept.id, kept.body)).status;
  } catch {
    status = 0;
  }
  busy = false;
  if (status >= 200 && status < 300) {
    stored.set({ id: kept.id, codes: kept.codes, sent: true });
    show(doneScreen);
  } else if (status === 0 || status === 429 || (status >= 500 && status !== FULL)) {
    if (current !== waitingScreen) show(waitingScreen);
    timer = setTimeout(submit, pause * 1000);
    pause = Math.min(pause * 2, 120);
  } else {
    stored.set(null);
    refusal = status;
    show(refusedScreen);
  }
}

addEventListener("online", submit);

// ------------------------------------------------------------------------------------------------- building

function el(tag, options = {}, ...children) {
  const svg = ["svg", "circle"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const heading = (text) => el("h1", { tabindex: "-1" }, text);
const paragraph = (text, kind) => el("p", { class: kind }, text);
const button = (text, act, kind = "primary") => el("button", { type: "button", class: kind, onclick: act }, text);

/** A hundred people, those who send their answer filled. */
function dots(share, label) {
  const people = Array.from({ length: 100 }, (_, i) =>
    el("circle", { cx: (i % 20) * 10 + 5, cy: Math.floor(i / 20) * 10 + 5, r: 3.6, class: i < share ? "kept" : "drawn" }),
  );
  return el("svg", { class: "dots", viewBox: "0 0 200 50", role: "img", "aria-label": label }, people);
}

/** The odds of one private question, as sentences, under the design that holds for this respondent. */
function oddsOf(question) {
  const block = SURVEY.blocks.find((one) => one.questions.includes(question));
  const each = block.odds[block.questions.indexOf(question)];
  if (block.by === null) return [each[0]];
  if (block.by >= SURVEY.questions.length) return [each[modes[block.by - SURVEY.questions.length]]];
  const chosen = answers[block.by];
  return chosen === undefined || chosen === null ? each : [each[block.designs[chosen]]];
}

/** A procedure names the two answers; what a code can show for certain is said beside it. */
function sentence(odds, question) {
  const [N, Y] = SURVEY.questions[question].labels.map((label) => label[language]);
  const said = say(odds.say, { ...odds, N, Y });
  return odds.exposed ? `${said} ${say("odds_exposed", { p: odds.exposed })}` : said;
}

const sentences = (question) => [...oddsOf(question).map((odds) => sentence(odds, question)), blankNote(question)].filter(Boolean);
const picture = (odds) => (odds.say === "odds" && /^\d+$/.test(odds.p) ? dots(Number(odds.p), say("dots", odds)) : null);

function languageMenu() {
  if (SURVEY.languages.length < 2) return null;
  const menu = el(
    "select",
    {
      "aria-label": say("language"),
      onchange: (event) => {
        language = event.target.value;
        keepTyped();
        show(current, false);
        document.querySelector(".bar select").focus();
      },
    },
    SURVEY.languages.map((one) => el("option", { value: one, lang: one, selected: one === language }, SURVEY.words[one].name)),
  );
  return menu;
}

let keepTyped = () => {};

function show(screen, move = true) {
  current = screen;
  keepTyped = () => {};
  document.documentElement.lang = language;
  document.documentElement.dir = say("dir");
  document.title = SURVEY.title[language];
  const header = el("header", { class: "bar" }, el("span", { class: "survey" }, screen === welcomeScreen ? "" : SURVEY.title[language]), languageMenu());
  const test = SURVEY.test ? el("p", { class: "test", role: "status" }, say("test")) : null;
  const main = el("main", { class: "screen", id: screen.name }, screen());
  document.body.replaceChildren(...[header, test, main].filter(Boolean));
  if (move) {
    scrollTo(0, 0);
    const top = main.querySelector("h1");
    if (top) top.focus({ preventScroll: true });
  }
}

// -------------------------------------------------------------------------------------------------- screens

function welcomeScreen() {
  const coded = SURVEY.access === "invitation";
  const privates = SURVEY.questions.map((_, i) => i).filter((i) => SURVEY.questions[i].private);
  const odds = privates.flatMap(oddsOf);
  const all = (kind) => odds.every((one) => one.say === kind);
  const certain = odds.some((one) => one.exposed || ["odds_exposed", "odds_direct"].includes(one.say));
  const fact = (term, text) => el("div", {}, el("dt", {}, term), el("dd", {}, text));
  const asked = (i) =>
    el(
      "li",
      { class: SURVEY.questions[i].private ? "private" : "public" },
      el("span", { class: "asked" }, SURVEY.questions[i].text[language]),
      SURVEY.questions[i].private
        ? [oddsOf(i).map(picture), sentences(i).map((text) => el("span", { class: "odds" }, text))]
        : el("span", { class: "odds" }, say("public")),
    );
  return [
    heading(SURVEY.title[language]),
    paragraph(say(all("odds_direct") ? "lede_direct" : certain ? "lede_exposed" : "lede"), "lede"),
    SURVEY.consent ? SURVEY.consent[language].split(/\n\s*\n/).map((text) => paragraph(text)) : null,
    el(
      "section",
      { class: "label", "aria-labelledby": "label" },
      el("h2", { id: "label" }, say("label")),
      el(
        "dl",
        {},
        fact(say("leaves"), say(coded ? "leaves_code" : "leaves_text")),
        fact(say("stored"), say(coded ? "stored_code" : "stored_text")),
        fact(say("absent"), say("absent_text")),
      ),
      el("h3", {}, say("how")),
      el("ul", { class: "asks" }, SURVEY.questions.map((_, i) => asked(i))),
    ),
    el("div", { class: "actions" }, button(say("agree"), () => show(practiceScreen))),
    SURVEY.contact ? el("p", { class: "quiet" }, `${say("contact")} `, el("bdi", {}, SURVEY.contact)) : null,
    withdrawal(),
  ];
}

function blankNote(i) {
  const question = SURVEY.questions[i];
  return !question.required && !question.blank_drawn ? say("blank_public") : null;
}

let practised = null;

function practiceScreen() {
  const labels = [say("no"), say("yes")];
  const result = el("div", { class: "result", role: "status" });
  const error = el("p", { class: "error", role: "alert" });
  const told = () => {
    if (!practised) return;
    const { truth, sent } = practised;
    const key = truth === sent ? "practice_kept" : "practice_changed";
    result.replaceChildren(
      el("p", { class: "outcome" }, say(key, { a: labels[truth], b: labels[sent] })),
      dots(75, say("dots", { p: 75 })),
      paragraph(say("practice_why")),
      paragraph(say("practice_real"), "quiet"),
    );
    go.textContent = say("toss_again");
    go.className = "secondary";
    on.className = "primary";
    on.textContent = say("go_on");
  };
  const go = button(say("toss"), () => {
    const chosen = document.querySelector("input[name=practice]:checked");
    if (!chosen) {
      error.textContent = say("missing");
      return;
    }
    error.textContent = "";
    practised = { truth: Number(chosen.value), sent: report(PRACTICE, Number(chosen.value), coin(4n)) };
    told();
  });
  const on = button(say("skip"), () => {
    place = 0;
    show(questionScreen);
  }, "secondary");
  told();
  return [
    heading(say("practice")),
    paragraph(say("practice_intro"), "lede"),
    el(
      "fieldset",
      { class: "choices" },
      el("legend", {}, say("practice_question")),
      [1, 0].map((code) =>
        el(
          "label",
          { class: "choice" },
          el("input", { type: "radio", name: "practice", value: code, checked: practised && practised.truth === code }),
          el("span", {}, labels[code]),
        ),
      ),
    ),
    error,
    result,
    el("div", { class: "actions" }, go, on),
  ];
}

function questionScreen() {
  const question = SURVEY.questions[place];
  const last = place === SURVEY.questions.length - 1;
  const error = el("p", { class: "error", role: "alert", id: "error" });
  const help = question.help ? el("p", { class: "help", id: "help" }, question.help[language]) : null;
  const step = say("progress", { i: place + 1, n: SURVEY.questions.length });
  const read = { radio: choiceInput, select: selectInput, list: listInput, number: numberInput }[question.input](question, help);
  keepTyped = () => read.keep && read.keep();
  const forward = () => {
    const found = read.answer();
    if (found.error) {
      error.textContent = found.error;
      read.focus();
      return;
    }
    answers[place] = found.code;
    if (last) {
      stored.set(finished());
      show(sendingScreen);
      submit();
    } else {
      place += 1;
      show(questionScreen);
    }
  };
  const note = question.private
    ? el("div", { class: "note private" }, el("strong", {}, say("private")), sentences(place).map((text) => el("span", {}, text)))
    : el("div", { class: "note public" }, el("strong", {}, say("public")));
  return [
    el("div", { class: "progress" }, el("span", {}, step), el("progress", { max: SURVEY.questions.length, value: place + 1, "aria-label": step })),
    heading(question.text[language]),
    help,
    note,
    el(
      "form",
      {
        novalidate: true,
        autocomplete: "off",
        oninput: () => {
          error.textContent = "";
        },
        onsubmit: (event) => {
          event.preventDefault();
          forward();
        },
      },
      read.nodes,
      error,
      last ? paragraph(say("last"), "quiet") : null,
      el(
        "div",
        { class: "actions" },
        el("button", { type: "submit", class: "primary" }, say(last ? "send" : "next")),
        button(say("back"), () => {
          read.keep && read.keep();
          if (place === 0) return show(practiceScreen);
          place -= 1;
          return show(questionScreen);
        }, "secondary"),
      ),
    ),
  ];
}

const described = (help) => (help ? "help error" : "error");

function choiceInput(question, help) {
  const listed = question.labels.map((label, code) => [code, label[language]]);
  if (!question.required) listed.push(["", say("no_answer")]);
  const given = answers[place];
  const nodes = el(
    "fieldset",
    { class: "choices", "aria-describedby": described(help) },
    el("legend", { class: "hidden" }, question.text[language]),
    listed.map(([code, text]) =>
      el(
        "label",
        { class: "choice" },
        el("input", { type: "radio", name: "answer", value: code, checked: given === code || (given === null && code === "") }),
        el("span", {}, text),
      ),
    ),
  );
  const chosen = () => nodes.querySelector("input:checked");
  return {
    nodes,
    keep: () => {
      if (chosen()) answers[place] = chosen().value === "" ? null : Number(chosen().value);
    },
    focus: () => nodes.querySelector("input").focus(),
    answer: () => (chosen() ? { code: chosen().value === "" ? null : Number(chosen().value) } : { error: say("missing") }),
  };
}

function selectInput(question, help) {
  const given = answers[place];
  const menu = el(
    "select",
    { id: "answer", "aria-describedby": described(help), "aria-label": question.text[language] },
    el("option", { value: "none", selected: given === undefined }, say("choose")),
    question.labels.map((label, code) => el("option", { value: code, selected: given === code }, label[language])),
    question.required ? null : el("option", { value: "", selected: given === null }, say("no_answer")),
  );
  const found = () => (menu.value === "none" ? undefined : menu.value === "" ? null : Number(menu.value));
  return {
    nodes: menu,
    keep: () => {
      answers[place] = found();
    },
    focus: () => menu.focus(),
    answer: () => (found() === undefined ? { error: say("missing") } : { code: found() }),
  };
}

/** An optional answer that is typed may be left out by a box of its own. */
function typedInput(question, input, more, code, wrong) {
  const out = el("input", { type: "checkbox", checked: answers[place] === null });
  const skip = question.required ? null : el("label", { class: "choice" }, out, el("span", {}, say("no_answer")));
  input.value = typed[place];
  input.addEventListener("input", () => {
    out.checked = false;
  });
  return {
    nodes: [input, more, skip],
    keep: () => {
      typed[place] = input.value;
    },
    focus: () => input.focus(),
    answer: () => {
      typed[place] = input.value;
      if (out.checked) return { code: null };
      const found = code(input.value);
      return found === null ? { error: wrong } : { code: found };
    },
  };
}

function numberInput(question, help) {
  const [low, high, points] = question.grid;
  const ends = { low, high };
  const input = el("input", {
    type: "number", inputmode: "decimal", step: "any", min: low, max: high, id: "answer",
    "aria-label": question.text[language], "aria-describedby": `hint ${described(help)}`,
  });
  const hint = el("p", { class: "quiet", id: "hint" }, say("number_hint", ends));
  return typedInput(question, input, hint, (text) => {
    const number = Number(text);
    if (text.trim() === "" || !(number >= low && number <= high)) return null;
    // The nearest point of the grid; ties go down.
    const step = (high - low) / (points - 1);
    return Math.min(Math.max(Math.ceil((number - low) / step - 0.5), 0), points - 1);
  }, say("number_error", ends));
}

function listInput(question, help) {
  const input = el("input", { type: "text", list: "listed", id: "answer", "aria-label": question.text[language], "aria-describedby": described(help) });
  const list = el("datalist", { id: "listed" }, question.labels.map((label) => el("option", { value: label[language] })));
  return typedInput(question, input, list, (text) => {
    const code = question.labels.findIndex((label) => label[language].toLowerCase() === text.trim().toLowerCase());
    return code < 0 ? null : code;
  }, say("list_error"));
}

function sendingScreen() {
  return [heading(say("sending"))];
}

function waitingScreen() {
  return [
    heading(say("waiting")),
    paragraph(say("waiting_text"), "lede"),
    el("div", { class: "actions" }, button(say("retry"), submit)),
  ];
}

/** Codes of reports have neutral names: a letter, or a number where letters end. */
const neutral = (code, size) => (size <= 26 ? String.fromCharCode(65 + code) : String(code));

function sentText(question, code, i) {
  if (code === question.blank) return say("no_answer");
  if (question.private) return say("code", { c: neutral(code, reportsOf(i)) });
  return question.grid ? String(question.grid[0] + (code * (question.grid[1] - question.grid[0])) / (question.grid[2] - 1)) : question.labels[code][language];
}

const reportsOf = (i) => 10 ** SURVEY.questions[i].width;

const grouped = (receipt) => receipt.replace(/(.{4})(?=.)/g, "$1 ");

function doneScreen() {
  const { id: receipt, codes } = stored.get();
  const row = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, el("bdi", {}, value)));
  // Everything that the request holds, in its order.
  const rows = [
    row(say("receipt"), grouped(receipt)),
    row(say("version"), SURVEY.design),
    ...SURVEY.questions.map((question, i) => row(question.text[language], sentText(question, codes[i], i))),
    ...SURVEY.assigned.map((designs, i) => row(say("drawn"), designs[codes[SURVEY.questions.length + i]])),
    ...(SURVEY.access === "invitation" ? [row(say("your_code"), invitation)] : []),
  ];
  const sure = el("div", { class: "sure" });
  const take = button(say("withdraw"), () => {
    sure.replaceChildren(
      el("p", { role: "alert" }, say("withdraw_sure")),
      el("div", { class: "actions" }, button(say("withdraw_yes"), () => withdraw(receipt, sure), "danger"), button(say("withdraw_no"), () => {
        sure.replaceChildren();
        take.focus();
      }, "secondary")),
    );
    sure.querySelector("button").focus();
  }, "secondary");
  return [
    heading(say("done")),
    el("section", { class: "label", "aria-labelledby": "receipt" }, el("h2", { id: "receipt" }, say("receipt")), el("p", { class: "receipt" }, el("bdi", {}, grouped(receipt))), paragraph(say("receipt_text"))),
    el("section", { "aria-labelledby": "sent" }, el("h2", { id: "sent" }, say("sent")), paragraph(say("sent_text")), el("dl", { class: "sent" }, rows)),
    el("div", { class: "actions" }, take, SURVEY.access === "open" ? button(say("again"), again, "secondary") : null),
    sure,
  ];
}

function again() {
  stored.set(null);
  location.reload();
}

async function withdraw(receipt, where) {
  let status = 0;
  try {
    status = (await ask("DELETE", receipt)).status;
  } catch {
    status = 0;
  }
  if (status === 204) {
    stored.set(null);
    show(withdrawnScreen);
  } else if (status === 410) {
    show(closedScreen);
  } else {
    where.replaceChildren(el("p", { class: "error", role: "alert" }, status === 404 ? say("receipt_error") : say("failed", { status })));
  }
}

function withdrawal() {
  const input = el("input", { type: "text", id: "given", autocomplete: "off", spellcheck: "false", "aria-label": say("receipt") });
  const answer = el("div");
  const act = () => {
    const receipt = input.value.replace(/[^0-9a-f]/gi, "").toLowerCase();
    if (receipt.length === 32) withdraw(receipt, answer);
    else answer.replaceChildren(el("p", { class: "error", role: "alert" }, say("receipt_error")));
  };
  return el("details", { class: "quiet" }, el("summary", {}, say("have_receipt")), input, el("div", { class: "actions" }, button(say("withdraw"), act, "secondary")), answer);
}

function withdrawnScreen() {
  const next = SURVEY.access === "open" ? el("div", { class: "actions" }, button(say("again"), again, "secondary")) : paragraph(say("withdrawn_code"));
  return [heading(say("withdrawn")), paragraph(say("withdrawn_text"), "lede"), next];
}

function closedScreen() {
  return [heading(say("closed")), paragraph(say("closed_text"), "lede")];
}

let refusal = 0;

function refusedScreen() {
  if (refusal === 410) return closedScreen();
  const why = { 409: "used", 403: "unknown", 412: "changed", [FULL]: "full" }[refusal];
  return [heading(say("refused")), el("p", { class: "lede", role: "alert" }, why ? say(why) : say("failed", { status: refusal }))];
}

function uninvitedScreen() {
  const input = el("input", { type: "text", id: "code", autocomplete: "off", spellcheck: "false", "aria-label": say("your_code"), placeholder: say("your_code") });
  const error = el("p", { class: "error", role: "alert" });
  const use = (event) => {
    event.preventDefault();
    const code = input.value.replace(/[^0-9A-Za-z]/g, "");
    if (code.length !== 20) {
      error.textContent = say("unknown");
      return;
    }
    location.hash = code;
    location.reload();
  };
  const form = el("form", { onsubmit: use, novalidate: true }, input, error, el("div", { class: "actions" }, el("button", { type: "submit", class: "primary" }, say("next"))));
  return [heading(say("no_code")), paragraph(say("no_code_text"), "lede"), form, withdrawal()];
}

const kept = stored.get();
if (kept && kept.sent) show(doneScreen, false);
else if (kept) {
  show(waitingScreen, false);
  submit();
} else if (SURVEY.access === "invitation" && invitation.length !== 20) show(uninvitedScreen, false);
else show(welcomeScreen, false);
