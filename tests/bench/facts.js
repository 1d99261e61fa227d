// SPDX-License-Identifier: GPL-3.0-or-later
// Does a real model answer from the content of its cache? Forty facts in plain English (facts.json), four to a text,
// stand between paragraphs of the manual, as one message of a chat; then the question is asked, with the reply begun
// ("The keeper of the lighthouse is called"), and the likeliest next token is the answer. The cache is as before for
// each question.
//   kvlab run facts.js --out DIR -- MODEL ROUNDS edits                         answers after edits, by after_edit
//   kvlab run facts.js --out DIR -- MODEL ROUNDS policies [RATIOS [POLICIES]]   answers under policies
// In each round the facts have other names and stand between other paragraphs. Run it in the root of the source tree.
// Intervals are Wilson's, 95 %. Writes facts_edits.json or facts_policies.json.
const [model, rounds, mode, ratios = "0.1,0.25,0.5", wanted = ""] = args;
const facts = JSON.parse(lab.readText("tests/bench/facts.json")).map(([thing, sentence, question]) => ({ thing, sentence, question,
  name: sentence.match(/called (\w+)/)[1], stem: sentence.replace(/ \w+\.$/, "") }));
const perText = 4;
const plainText = (page) => lab.readText(`resources/manual/${page}.md`).split("\n\n").filter((p) => /^[A-Z]/.test(p) && !/\||\n    /.test(p))
  .map((p) => p.replace(/\n/g, " ").replace(/[`*]/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")).filter((p) => p.length > 100);
const filler = [].concat(...["editing", "rings", "storage", "eviction", "wlod", "captures-and-cache-files"].map(plainText)).map((p) => p.slice(0, 300).replace(/[^.]*$/, "")).filter((p) => p.length > 90);
const texts = [];
for (let round = 0; round < Number(rounds); ++round)
  for (let g = 0; g < facts.length; g += perText) {
    const paragraph = (i) => filler[(g + i + 17 * round) % filler.length];
    const own = facts.slice(g, g + perText).map((fact, i) => {
      const name = facts[(g + i + 11 * round) % facts.length].name;
      return Object.assign({}, fact, { name: name, sentence: `${fact.stem} ${name}.` });
    });
    texts.push({ facts: own, text: own.map((fact, i) => paragraph(i) + "\n" + fact.sentence + "\n").join("") + paragraph(perText) });
  }
const numerics = model === "demo" ? "portable-fma" : "portable-q8";
const open = (more) => lab.open(Object.assign({ model, numerics, threads: 1, capacity: 900, check: { level: "off" } }, more));

/** Reads a text; returns its tick. */
function reading(s, text) {
  s.reset();
  s.chat([{ role: "user", content: "Read this text and answer my question about it.\n\n" + text.text }], { addGenerationPrompt: false });
  return s.tick;
}
/** The answer to a fact's question, the cache left as it was at `tick`. */
function ask(s, tick, question, stem) {
  s.chat([{ role: "user", content: question }], { more: true });
  s.promptIds(s.tokenise(stem));
  const answer = s.topk(1)[0].text.trim();
  s.goto(tick);
  return answer;
}
function wilson(hit, of) {
  const z = 1.96, p = hit / of, middle = (p + z * z / (2 * of)) / (1 + z * z / of);
  const half = z / (1 + z * z / of) * Math.sqrt(p * (1 - p) / of + z * z / (4 * of * of));
  return `${(100 * p).toFixed(0)} % (${hit}/${of}; ${Math.max(0, 100 * (middle - half)).toFixed(0)} .. ${(100 * (middle + half)).toFixed(0)})`;
}
const counts = {};
function count(row, column, hit) {
  const cells = (counts[row] = counts[row] ?? {}), cell = (cells[column] = cells[column] ?? { hit: 0, of: 0 });
  cell.hit += hit ? 1 : 0;
  ++cell.of;
}
function finish(name) {
  const columns = [...new Set([].concat(...Object.values(counts).map(Object.keys)))];
  log(["", "", ...columns, ""].join(" | ").trim(), ["", "---", ...columns.map(() => "---"), ""].join(" | ").trim());
  for (const [row, cells] of Object.entries(counts))
    log(`| ${[row, ...columns.map((c) => (cells[c] ? wilson(cells[c].hit, cells[c].of) : "–"))].join(" | ")} |`);
  lab.writeText(name, JSON.stringify({ model, numerics, facts: facts.length, rounds: Number(rounds), texts: texts.length, counts }, null, 1) + "\n");
}

const pieceOf = {};  // text of a token id
/** Tokens of the context that write a part of the text. */
function placesOf(s, part) {
  const pieces = s.tokens().map((id) => (pieceOf[id] = pieceOf[id] ?? s.detokenise([id]))), begin = pieces.join("").indexOf(part), places = [];
  expect(begin >= 0, `the context holds "${part}"`);
  pieces.reduce((at, piece, i) => {
    if (at + piece.length > begin && at < begin + part.length) places.push(i);
    return at + piece.length;
  }, 0);
  return places;
}

function edits() {
  const sessions = { keep: open({ after_edit: "keep" }), selective: open({ after_edit: "selective" }), recompute: open({ after_edit: "recompute" }) };
  const one = (text) => { const ids = sessions.keep.tokenise(" " + text); expect(ids.length === 1, `one token: ${text}`); return ids[0]; };
  texts.forEach((text, g) => {
    const ticks = {};
    for (const [name, s] of Object.entries(sessions)) ticks[name] = reading(s, text);
    text.facts.forEach((fact, i) => {
      const at = (part) => placesOf(sessions.keep, part), sentence = at(fact.sentence);
      const nameAt = at(fact.stem + " " + fact.name).slice(-1), thingAt = at(fact.sentence.slice(0, fact.sentence.indexOf(fact.thing) + fact.thing.length)).slice(-1);
      const other = facts[(g * perText + i + 13) % facts.length];
      const right = ask(sessions.keep, ticks.keep, fact.question, fact.stem) === fact.name;
      count("unedited: right", "keep", right);
      if (!right) return;
      const swap = (string) => string.replace(fact.thing, other.thing);
      for (const [name, s] of Object.entries(sessions)) {
        const edited = (actions, question, stem) => {
          s.inject(actions);
          expect(s.apply().ok, "the edit was applied");
          return ask(s, ticks[name], question, stem);
        };
        const renamed = edited([{ action: "replace", positions: nameAt, new_token_ids: [one(other.name)] }], fact.question, fact.stem);
        count("name replaced: the new name", name, renamed === other.name);
        count("name replaced: still the old name", name, renamed === fact.name);
        const moved = [{ action: "replace", positions: thingAt, new_token_ids: [one(other.thing)] }];
        count("place replaced, asked about the new place: the name", name, edited(moved, swap(fact.question), swap(fact.stem)) === fact.name);
        count("place replaced, asked about the old place: still the name", name, edited(moved, fact.question, fact.stem) === fact.name);
        count("fact deleted: still the name", name, edited(sentence.map((position) => ({ action: "delete", position })), fact.question, fact.stem) === fact.name);
      }
    });
    log(`${g + 1} of ${texts.length} texts, the last of ${sessions.keep.length} tokens`);
    finish("facts_edits.json");
  });
}

function policies() {
  const all = ["snapkv", "snapkv:preset=adakv", "pyramidkv", "adakv", "h2o", "tova", "expected_attention", "streaming_llm", "sliding_window",
    "knorm", "knorm:preset=sinks", "knorm:preset=bands", "keydiff", "keydiff:preset=sinks", "keydiff:preset=bands", "random"];
  const cells = [["full", ""]];
  for (const ratio of ratios.split(",")) for (const policy of wanted ? wanted.split(" ") : all) cells.push([policy, ratio]);
  for (const [policy, ratio] of cells) {
    const s = open(ratio ? { policy: policy + (policy.includes(":") ? "," : ":") + "ratio=" + ratio } : {});
    for (const text of texts) {
      const tick = reading(s, text);
      for (const fact of text.facts) count(policy, ratio ? `${100 * ratio} %` : "all rows", ask(s, tick, fact.question, fact.stem) === fact.name);
    }
    s.close();
    log(`${policy} ${ratio}`);
    lab.writeText("facts_policies.json", JSON.stringify({ model, numerics, counts }) + "\n");
  }
  finish("facts_policies.json");
}
(mode === "edits" ? edits : policies)();
