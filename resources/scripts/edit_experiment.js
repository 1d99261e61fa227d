// SPDX-License-Identifier: Apache-2.0
// The edit experiment: does the model answer from the edited cache? Held-out stories of the demo model
// are read once; then the place or the thing of a fact is replaced in the cache, or the fact deleted, and
// the question asked. The place's own row carries the new place, so any after_edit will do; which thing it
// belongs to is in rows behind the thing, so there it matters that they are computed again. Measured for every after_edit, by context length and by distance, against the
// unedited answers; the drift of rows that were kept, by layer and by distance behind the edit.
//   kvlab run edit_experiment.js --out DIR [-- STORIES_PER_LENGTH]     writes edit_experiment.{md,json}
const lengths = [128, 256, 512, 1024], distances = [64, 128, 256, 512, 1024], behind = [16, 64, 256, 1024];
const chance = 1 / 16;
const most = args.length ? Number(args[0]) : Infinity;
expect(most >= 1, "the number of stories per length is at least 1");

const all = JSON.parse(lab.readText("resource:demo/stories.json"));
const stories = [].concat(...lengths.map((length) => all.filter((story) => story.tokens === length).slice(0, most)));
const open = (mode) => lab.open({ model: "demo", dtype: "f32", after_edit: mode, capacity: 1200 });
const sessions = { recompute: open("recompute"), keep: open("keep"), selective: open("selective") };
const plain = sessions.recompute, fresh = open("keep");
let checked = 0, asked = 0;
const bos = 1, period = plain.tokenise(".")[0];
const idOf = (word) => plain.tokenise("in " + word)[1];  // as it stands behind another word
const idsOf = (text) => [bos, ...plain.tokenise(text)];

// --- counting ---------------------------------------------------------------------------------------
const tables = {};
const made = (object, key, value) => (key in object ? object[key] : (object[key] = value));
function tally(table, row, column, hit) {
  const cell = made(made(made(tables, table, {}), row, {}), column, { hit: 0, of: 0 });
  cell.hit += hit ? 1 : 0;
  ++cell.of;
}
const upTo = (value, steps) => steps.find((step) => value <= step) ?? steps[steps.length - 1];

function count(table, row, story, question, hit) {
  tally(table + ", by context length", row, story.tokens, hit);
  tally(table + ", by distance", row, "<= " + upTo(question.distance, distances), hit);
}

// --- asking -----------------------------------------------------------------------------------------
/** The greedy reply to a question, the cache left as it was. */
function ask(s, question) {
  const tick = s.tick;
  s.promptIds(s.tokenise(question.question));
  const reply = s.step(question.reply.split(" ").length).map((report) => report.token);
  s.goto(tick);
  return reply;
}

/** The reply with an edit in the cache, which is taken back. */
function askEdited(s, actions, question, look) {
  const tick = s.tick;
  s.inject(actions);
  expect(s.apply().ok, "the edit was applied");
  if (look) look();
  const reply = ask(s, question);
  s.goto(tick);
  return reply;
}

const same = (a, b) => a.length === b.length && a.every((id, i) => id === b[i]);

/** Another place of the story, where the thing never was. */
function otherPlace(story, question) {
  const own = question.facts_of_thing.map((fact) => story.facts[fact].place);
  const others = [...new Set(story.facts.map((fact) => fact.place))].filter((place) => !own.includes(place)).sort();
  return others[(story.seed * 31 + story.facts[question.fact].begin) % Math.max(1, others.length)];
}

// --- drift of kept rows -----------------------------------------------------------------------------
const drifted = {};  // [what][layer][rows behind] -> {sum, of}
const kl = { sum: 0, of: 0 };
function addDrift(s, position) {
  const drift = s.drift({ rows: true });
  for (const what of ["k", "v"])
    drift[what + "Rows"].forEach((rows, layer) => rows.forEach((error, at) => {
      if (at <= position || error === null) return;
      const cell = made(made(made(drifted, what, {}), layer, {}), "<= " + upTo(at - position, behind), { sum: 0, of: 0 });
      cell.sum += error;
      ++cell.of;
    }));
  ++kl.of;
  kl.sum += drift.kl;
}

// --- one fact ---------------------------------------------------------------------------------------
function replaceFact(story, question, first) {
  const fact = story.facts[question.fact], place = otherPlace(story, question);
  if (!place) return;
  const wanted = plain.tokenise(question.reply.replace(` ${question.answer} `, ` ${place} `));
  const old = idOf(question.answer), at = question.reply.split(" ").indexOf(question.answer);
  const edit = [{ action: "replace_pair", original_pos1: fact.place_at, original_pos2: fact.place_at + 1,
    new_token_ids: [idOf(place), period] }];
  for (const [mode, s] of Object.entries(sessions)) {
    const reply = askEdited(s, edit, question, first && mode === "keep" ? () => addDrift(s, fact.place_at + 1) : null);
    count("Fact replaced: the reply follows the edit", mode, story, question, same(reply, wanted));
    count("Fact replaced: the old place is still named", mode, story, question, reply[at] === old);
  }
}

/** Another thing is now where this one was: rows behind the pair still speak of the old one. */
function replaceThing(story, question) {
  const fact = story.facts[question.fact], other = story.unknown.find((q) => q.question.startsWith("where is the "));
  if (question.facts_of_thing.length > 1 || !fact.thing.startsWith("the ") || !other) return;
  const words = other.question.split(" ").slice(3, 5), at = fact.begin + fact.text.split(" ").indexOf(fact.thing.split(" ")[1]);
  const edit = [{ action: "replace_pair", original_pos1: at, original_pos2: at + 1, new_token_ids: words.map(idOf) }];
  const wanted = plain.tokenise(question.reply), asking = { question: other.question, reply: question.reply };
  for (const [mode, s] of Object.entries(sessions)) {
    const place = askEdited(s, edit, asking, null);
    count("Thing replaced: the new thing is found in the place", mode, story, question, same(place, wanted));
    count("Thing replaced: the old thing still is", mode, story, question, same(askEdited(s, edit, question, null), wanted));
  }
}

function deleteFact(story, question) {
  const fact = story.facts[question.fact];
  const edit = [];
  for (let at = fact.begin; at < fact.end; ++at) edit.push({ action: "delete", position: at });
  const old = idOf(question.answer), at = question.reply.split(" ").indexOf(question.answer);
  for (const [mode, s] of Object.entries(sessions)) {
    const reply = askEdited(s, edit, question);
    count("Fact deleted: the old place is still named", mode, story, question, reply[at] === old);
    // "nobody knows ." names no place at all; begun for the model, the reply has to.
    const begun = { question: `${question.question} ${question.reply_prefix}`, reply: question.answer };
    count("Fact deleted, the reply begun: the old place is still named", mode, story, question, askEdited(s, edit, begun)[0] === old);
  }
}

/** After recompute the cache is the one that a fresh prompt of the edited text makes, bit for bit. */
function checkAgainstFresh(story, question) {
  const fact = story.facts[question.fact], place = otherPlace(story, question);
  if (!place) return;
  const s = sessions.recompute, tick = s.tick, ids = idsOf(story.text);
  s.inject([{ action: "replace", positions: [fact.place_at], new_token_ids: [idOf(place)] }]);
  s.apply();
  s.promptIds(s.tokenise(question.question));
  const edited = s.logits();
  s.goto(tick);
  ids[fact.place_at] = idOf(place);
  fresh.reset();
  fresh.promptIds(ids);
  fresh.promptIds(fresh.tokenise(question.question));
  expectNear(edited, fresh.logits(), {}, `story ${story.seed}: the edited cache gives the fresh prompt's logits`);
  ++checked;
}
// --- the run ----------------------------------------------------------------------------------------
stories.forEach((story, number) => {
  const ids = idsOf(story.text);
  expect(ids.length === story.length, `story ${story.seed} has ${ids.length} tokens, said ${story.length}`);
  for (const s of Object.values(sessions)) {
    s.reset();
    s.promptIds(ids);
  }
  let first = true;
  for (const question of story.questions.filter((q) => q.held_out)) {
    const right = same(ask(plain, question), plain.tokenise(question.reply));
    ++asked;
    count("Unedited: held-out questions answered", "right", story, question, right);
    if (!right) continue;
    replaceFact(story, question, first);
    replaceThing(story, question);
    deleteFact(story, question);
    if (first) checkAgainstFresh(story, question);
    first = false;
  }
  if ((number + 1) % 10 === 0 || number + 1 === stories.length) log(`${number + 1} of ${stories.length} stories`);
});

// --- the tables -------------------------------------------------------------------------------------
const percent = (cell) => (cell ? `${(100 * cell.hit / cell.of).toFixed(1)} % (${cell.hit}/${cell.of})` : "–");
const total = (table, row) => Object.values(tables[table][row]).reduce((sum, cell) => ({ hit: sum.hit + cell.hit, of: sum.of + cell.of }), { hit: 0, of: 0 });
const line = (cells) => `| ${cells.join(" | ")} |`;
function markdown(title, rows, columns, cell) {
  return [`**${title}**`, "", line(["", ...columns]), line(["---", ...columns.map(() => "---")]),
    ...rows.map((row) => line([row, ...columns.map((column) => cell(row, column))])), ""].join("\n");
}
const columnsOf = (table) => [...new Set([].concat(...Object.values(table).map((row) => Object.keys(row))))]
  .sort((a, b) => Number(a.replace("<= ", "")) - Number(b.replace("<= ", "")));
const report = [];
for (const [title, table] of Object.entries(tables)) {
  const columns = columnsOf(table);
  report.push(markdown(title, Object.keys(table), [...columns, "all"],
    (row, column) => percent(column === "all" ? total(title, row) : table[row][column])));
}
for (const what of ["k", "v"])
  report.push(markdown(`Rows kept after a replaced pair: mean relative L2 of ${what.toUpperCase()} against a rebuild, by layer and rows behind the edit`,
    Object.keys(drifted[what]).map((layer) => "layer " + layer), columnsOf(drifted[what]),
    (layer, column) => {
      const cell = drifted[what][layer.slice(6)][column];
      return cell ? (cell.sum / cell.of).toExponential(1) : "–";
    }));
report.push(`Mean KL(rebuild || live) of the next token after a kept edit: ${(kl.sum / kl.of).toExponential(1)} (${kl.of} edits). ` +
  `${checked} recomputed edits gave the logits of a fresh prompt bit for bit. Chance is 1/16 = 6.3 %.`);
log(report.join("\n"));
lab.writeText("edit_experiment.md", report.join("\n") + "\n");
lab.writeText("edit_experiment.json", JSON.stringify({ stories: stories.length, asked, tables, drifted, kl, checked }, null, 1) + "\n");

// --- promises of the demo model -------------------------------------------------------------------
const rate = (cell) => cell.hit / cell.of;
expect(rate(tables["Unedited: held-out questions answered, by context length"].right[512]) >= 0.95, "95 % answered at 512 tokens");
expect(rate(total("Fact replaced: the reply follows the edit, by context length", "recompute")) >= 0.95, "95 % follow a recomputed edit");
const found = (mode) => rate(total("Thing replaced: the new thing is found in the place, by context length", mode));
expect(found("recompute") >= 0.95, "95 % find the new thing after a recomputed edit");
expect(found("keep") < found("selective"), "kept rows speak of the old thing");
expect(rate(total("Fact deleted: the old place is still named, by context length", "recompute")) <= chance + 0.05, "the old answer falls to chance plus 5 points");
expect(rate(total("Fact deleted, the reply begun: the old place is still named, by context length", "recompute")) <= chance + 0.05,
  "also where the model has to name a place");
expect(checked > 0, "an edit was compared with a fresh prompt");
Object.values(sessions).concat(fresh).forEach((s) => s.close());
