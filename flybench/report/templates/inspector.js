// The token inspector. Data come from flybench/report/inspector.py in blocks of compressed JSON.
// All text is escaped there and only ever inserted as text here.
"use strict";
(() => {
const ROW = 44; // height of a list row in pixels
const SPARE = 6; // rows drawn above and below the visible part
const BREAK = "\x1f";
const OUTCOMES = {
  e: ["exact", "draft token that equals the target's argmax"],
  l: ["loose", "draft token that differs from the target's argmax, accepted by a loose rule"],
  s: ["stochastic", "draft token accepted by rejection sampling"],
  g: ["gate", "target token; the draft token was rejected because the target is certain here"],
  w: ["window", "target token; the draft token was rejected because of another mismatch within the window"],
  t: ["tail", "target token; the draft token was rejected because the window extends past the draft"],
  r: ["rejected", "target token; the draft token was rejected"],
  b: ["bonus", "target token after a fully accepted draft"],
  p: ["plain", "target token without a draft"],
};
const at = (name) => document.getElementById(`inspector-${name}`);
const state = { index: null, rows: [], shown: [], active: 0, open: null, hits: null, search: 0 };
const texts = new Map(); // lower-case answers already searched, by block

// Data

async function unpack(name) {
  const bytes = Uint8Array.from(atob(at(name).textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function rowsOf(index) {
  return index.arms.flatMap((arm, number) => {
    const first = index.arms.findIndex((other) => other.group === arm.group);
    const group = index.groups[arm.group];
    return arm.samples.map((sample, i) => ({
      arm, sample, column: number - first, id: group.ids[sample], category: group.categories[sample],
      flip: arm.flip[i], divergedAt: arm.divergedAt[i], loose: arm.loose[i], tokens: arm.tokens[i],
      right: arm.right[i], rightAr: arm.rightAr[i],
    }));
  });
}

const blockOf = (row) => `${row.arm.group}-${Math.floor(row.sample / state.index.chunk)}`;

async function answersOf(row) {
  const { arms, answers } = (await unpack(blockOf(row)))[row.sample % state.index.chunk];
  return arms[row.column].map((number) => (number === null ? null : answers[number]));
}

function plainText(answer) {
  return answer.pieces === null ? answer.text : answer.pieces.replaceAll(BREAK, "");
}

async function textsOf(block) {
  if (!texts.has(block)) {
    const samples = await unpack(block);
    texts.set(block, samples.map(({ arms, answers }) => {
      const lower = answers.map((answer) => plainText(answer).toLowerCase());
      return arms.map(([own]) => (own === null ? "" : lower[own]));
    }));
  }
  return texts.get(block);
}

// Filters and search

function matches(row) {
  const arm = at("arm").value, category = at("category").value;
  return (arm === "" || state.index.arms[arm] === row.arm)
    && (category === "" || row.category === category)
    && (!at("flips").checked || row.flip !== 0)
    && (!at("loose").checked || row.loose > 0)
    && (state.hits === null || state.hits.has(row));
}

function filter() {
  const before = state.shown[state.active];
  state.shown = state.rows.filter(matches);
  state.active = Math.max(0, state.shown.indexOf(before));
  const searching = state.searching ? `, searching (${state.searching})` : "";
  at("count").textContent = `${state.shown.length} of ${state.rows.length} answers${searching}`;
  at("list").scrollTop = Math.max(0, (state.active - 2) * ROW);
  drawList();
}

async function search() {
  const query = at("search").value.trim().toLowerCase(), number = ++state.search;
  state.hits = query === "" ? null : new Set(state.rows.filter((row) => row.id.toLowerCase().includes(query)));
  const blocks = query === "" ? new Map() : Map.groupBy(state.rows, blockOf);
  let done = 0;
  for (const [block, rows] of blocks) {
    const found = await textsOf(block);
    if (number !== state.search) return; // superseded by another search
    for (const row of rows) {
      if (found[row.sample % state.index.chunk][row.column].includes(query)) state.hits.add(row);
    }
    state.searching = ++done < blocks.size ? `${done} of ${blocks.size} parts` : "";
    if (done % 20 === 0) filter();
  }
  state.searching = "";
  filter();
}

// The list of samples: only the visible rows are drawn

function drawList() {
  const list = at("list"), inner = list.firstElementChild;
  inner.style.height = `${state.shown.length * ROW}px`;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
  const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
  inner.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, i) => rowElement(first + i)));
  const active = at(`row-${state.active}`);
  if (active) list.setAttribute("aria-activedescendant", active.id);
  else list.removeAttribute("aria-activedescendant");
}

function rowElement(index) {
  const row = state.shown[index], kind = { [-1]: "lost", 1: "won" }[row.flip] ?? "";
  const option = element("div", index === state.active ? "active" : "");
  option.id = `inspector-row-${index}`;
  option.style.top = `${index * ROW}px`;
  setAll(option, { role: "option", "aria-selected": row === state.open, "aria-posinset": index + 1, "aria-setsize": state.shown.length });
  const flip = { lost: "▼ lost", won: "▲ won" }[kind];
  const loose = row.loose ? `${row.loose} loose` : "";
  option.append(
    element("span", `id ${kind}`, [row.id, flip].filter(Boolean).join(" · ")),
    element("span", "note", [row.arm.method, row.category, loose, `${row.tokens} tokens`].filter(Boolean).join(" · ")),
  );
  option.addEventListener("click", () => { state.active = index; open(); });
  return option;
}

function moveTo(index) {
  if (!state.shown.length) return;
  state.active = Math.min(Math.max(index, 0), state.shown.length - 1);
  const list = at("list"), top = state.active * ROW;
  if (top < list.scrollTop) list.scrollTop = top;
  if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  drawList();
}

async function onListKey(event) {
  const page = Math.floor(at("list").clientHeight / ROW);
  const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in steps) moveTo(state.active + steps[event.key]);
  else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); await open(); focusToken(at("own"), 0); return; }
  else return;
  event.preventDefault();
}

// An open sample

async function open() {
  const row = state.shown[state.active];
  if (!row) return;
  state.open = row;
  drawList();
  const [own, ar] = await answersOf(row);
  if (state.open !== row) return; // another sample was opened meanwhile
  at("name").textContent = `${row.id} · ${row.arm.method}`;
  at("facts").textContent = facts(row, own, ar);
  drawAnswer("own", row.arm.label, own, row, row.right);
  drawAnswer("ar", "AR", row.arm.baseline ? null : ar, row, row.rightAr);
  at("token").replaceChildren(element("span", "quiet", "Hover over a token or focus it to see its details."));
  drawLegend(own);
}

function facts(row, own, ar) {
  const parts = [row.category, `τ ${(row.tokens / Math.max(1, own.rounds.length || row.tokens)).toFixed(2)}`, `${row.loose ?? 0} loose`];
  if (!ar || row.arm.baseline) return parts.join(" · ");
  const rate = (own.outcomes.length / own.decoding) / (ar.outcomes.length / ar.decoding);
  parts.push(`speed-up ${rate.toFixed(2)} × (tokens/s), ${(ar.seconds / own.seconds).toFixed(2)} × (to answer)`);
  parts.push(row.divergedAt === null ? "same tokens as AR" : `diverges from AR at token ${row.divergedAt}`);
  return parts.join(" · ");
}

function drawAnswer(name, label, answer, row, right) {
  const box = at(name);
  box.parentElement.hidden = answer === null;
  if (answer === null) return box.replaceChildren();
  const verdict = right === null ? "" : right === 1 ? ", right" : right === 0 ? ", wrong" : `, scored ${right}`;
  at(`${name}-title`).textContent = `${label}: ${answer.outcomes.length} tokens, ${answer.seconds.toFixed(2)} s, ended by ${answer.finish}${verdict}`;
  const pieces = answer.pieces === null ? [...answer.outcomes].map((letter) => ("ep".includes(letter) ? "·" : letter)) : answer.pieces.split(BREAK);
  const tokens = pieces.map((piece, index) => tokenElement(piece, index, answer, row.divergedAt));
  box.replaceChildren(...tokens);
  tokens[0].tabIndex = 0;
  box.scrollTop = 0;
  box.nextElementSibling?.remove();
  if (answer.pieces === null) box.after(wholeText(answer));
  answer.row = row;
  box.answer = answer;
}

function wholeText(answer) {
  const both = element("div", "whole");
  setAll(both, { tabindex: 0, role: "region", "aria-label": "Text of the answer" });
  both.append(
    element("p", "quiet", "This run has no token texts. Above, each token is shown as a dot, or as the first letter of its outcome if it is not exact; the full text follows. Rerun flybench run to add token texts."),
    element("div", "", answer.text),
  );
  return both;
}

function tokenElement(piece, index, answer, divergedAt) {
  const [name] = OUTCOMES[answer.outcomes[index]];
  const token = element("span", `token ${name}`, piece);
  if (index === divergedAt) token.classList.add("diverged");
  else if (answer.turns.includes(index)) token.classList.add("turn");
  else if (piece === "") token.classList.add("unseen");
  else if (/^\s*\n\s*$/.test(piece)) token.classList.add("line");
  token.tabIndex = -1;
  setAll(token, { role: "option", "aria-selected": "false", "aria-label": `${spoken(piece)}, ${name}${index === divergedAt ? ", first that differs from AR" : ""}` });
  return token;
}

function spoken(piece) {
  const shown = piece.replaceAll("\n", "⏎").replaceAll("\t", "⇥");
  return shown === "" ? "part of the previous character" : shown.trim() === "" ? `${shown.length} blank` : shown;
}

function drawLegend(answer) {
  const counts = Map.groupBy(answer.outcomes, (letter) => letter);
  at("legend").replaceChildren(...Object.entries(OUTCOMES).filter(([letter]) => counts.has(letter)).map(([letter, [name, meaning]]) => {
    const entry = element("li", "");
    entry.append(element("span", `token ${name}`, name), ` ${counts.get(letter).length}: ${meaning}`);
    return entry;
  }));
}

// Details of a token, and the keys that move between tokens

function pointAt(box, token) {
  if (!token || !box.answer) return;
  document.querySelector(".token.pointed")?.classList.remove("pointed");
  token.classList.add("pointed");
  const answer = box.answer, index = [...box.children].indexOf(token);
  const list = element("dl", "");
  for (const [term, value] of details(answer, index)) list.append(element("dt", "", term), element("dd", "", value));
  const text = answer.pieces === null ? answer.loose.find(([at]) => at === index)?.[7] ?? "" : token.textContent;
  const [name, meaning] = OUTCOMES[answer.outcomes[index]];
  const head = element("div", "");
  head.append(element("span", "text", text.replaceAll("\n", "⏎")), ` ${name}: ${meaning}`);
  at("token").replaceChildren(head, list);
}

function details(answer, index) {
  const found = [["index", `token ${index} of ${answer.outcomes.length} (0-based)${roundOf(answer, index)}`]];
  const loose = answer.loose.find(([at]) => at === index);
  if (loose) found.push(...statistics(loose, answer.row.arm.rule));
  else if (answer.outcomes[index] !== "s") found.push(["target's token", `this token${sampled(answer)}`]);
  const rule = answer.row.arm.rule;
  if (answer.outcomes[index] === "w" && rule.window) found.push(["window", `${rule.window} tokens, with another mismatch`]);
  const gap = (answer.margins.charCodeAt(index) - 48) / state.index.step;
  found.push(["target's top-2 gap", `${gap >= 255 / state.index.step ? "≥ " : ""}${gap} (logits, rounded to 1/${state.index.step})`]);
  if (!loose) found.push(["probability, rank, entropy", "recorded only for loose tokens"]);
  return found;
}

function sampled(answer) {
  const temperature = answer.row.arm.temperature;
  return temperature ? `, sampled at temperature ${temperature}` : "";
}

function statistics([, top1, probability, topProbability, rank, entropy, kind], rule) {
  const following = rule.rule === "official" ? rule.window - 1 : rule.window;
  return [
    ["target's top-1", `${top1.replaceAll("\n", "⏎")} at ${(100 * topProbability).toFixed(1)} %`],
    ["this token", `${(100 * probability).toFixed(1)} %, rank ${rank}, class: ${kind}`],
    ["target's entropy", `${entropy.toFixed(3)} nats, over the full softmax`],
    ...(rule.window ? [["window", `${rule.window}: the next ${following} draft tokens match the target's tokens (rule ${rule.rule}, θ ${rule.theta})`]] : []),
  ];
}

function roundOf(answer, index) {
  let before = 0;
  for (const [number, emitted] of answer.rounds.entries()) {
    if (index < before + emitted) return `, round ${number + 1}, ${index - before + 1} of its ${emitted}`;
    before += emitted;
  }
  return "";
}

function focusToken(box, index) {
  const tokens = box.children;
  if (!tokens.length) return;
  const token = tokens[Math.min(Math.max(index, 0), tokens.length - 1)];
  for (const other of box.querySelectorAll('[tabindex="0"]')) setAll(other, { tabindex: -1, "aria-selected": "false" });
  setAll(token, { tabindex: 0, "aria-selected": "true" });
  token.focus();
}

function lineAway(tokens, index, step) {
  const from = tokens[index].getBoundingClientRect();
  for (let next = index + step, best = index, line = null; ; next += step) {
    const there = tokens[next]?.getBoundingClientRect();
    if (!there || (line !== null && Math.abs(there.top - line) > 4)) return best;
    if (line === null && Math.abs(there.top - from.top) <= 4) continue;
    if (line === null) { line = there.top; best = next; }
    else if (Math.abs(there.left - from.left) < Math.abs(tokens[best].getBoundingClientRect().left - from.left)) best = next;
  }
}

function markedAway(box, index, step) {
  for (let next = index + step; next >= 0 && next < box.children.length; next += step) {
    if (!"ep".includes(box.answer.outcomes[next])) return next;
  }
  return index;
}

async function onTokenKey(event) {
  const box = event.currentTarget, index = [...box.children].indexOf(document.activeElement);
  if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = {
    ArrowRight: () => index + 1, ArrowLeft: () => index - 1, Home: () => 0, End: () => box.children.length - 1,
    ArrowDown: () => lineAway(box.children, index, 1), ArrowUp: () => lineAway(box.children, index, -1),
    n: () => markedAway(box, index, 1), p: () => markedAway(box, index, -1),
  };
  const samples = { j: 1, k: -1 };
  if (!(event.key in moves || event.key in samples || event.key === "Escape")) return;
  event.preventDefault();
  if (event.key in moves) focusToken(box, moves[event.key]());
  else if (event.key === "Escape") at("list").focus();
  else { moveTo(state.active + samples[event.key]); await open(); focusToken(at("own"), 0); }
}

// Elements; text is only set through textContent

function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

function setAll(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) target.setAttribute(name, value);
}

function choices(name, all, labels) {
  const first = new Option(all, "");
  at(name).replaceChildren(first, ...labels.map(([label, value]) => new Option(label, value)));
}

function listen() {
  for (const name of ["arm", "category", "flips", "loose"]) at(name).addEventListener("change", filter);
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  let timer = 0;
  at("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 150); });
  at("list").addEventListener("scroll", () => requestAnimationFrame(drawList));
  at("list").addEventListener("keydown", onListKey);
  for (const box of [at("own"), at("ar")]) {
    box.addEventListener("keydown", onTokenKey);
    for (const kind of ["mouseover", "focusin"]) {
      box.addEventListener(kind, (event) => pointAt(box, event.target.closest(".token")));
    }
  }
}

async function start() {
  if (!at("index")) return;
  state.index = await unpack("index");
  state.rows = rowsOf(state.index);
  choices("arm", "all", state.index.arms.map((arm, number) => [arm.label, number]));
  const categories = [...new Set(state.rows.map((row) => row.category))].sort();
  choices("category", "all", categories.map((name) => [name, name]));
  at("tool").hidden = false;
  listen();
  filter();
  await open();
}

start();
})();
