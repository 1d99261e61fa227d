// SPDX-License-Identifier: Apache-2.0
// The guided tour through the five systems: an edit in the middle of the text, a plain cache that fills and is saved,
// SmartKV, a ring of quantised rows, and wLOD; every view on the way.
// In the window each caption waits for Next; without a display the pictures of the stops are written, but for lanes and
// sweeps, whose parallel work comes in any order.
// usage: kvlab run tour.js --out DIR

const headless = !view.interactive();
const known = view.list();
let stop = 0;
function show(caption, ids, file) {
  for (const id of ids) if (known.includes(id)) view.show(id);
  view.caption(caption);
  if (headless && file) view.screenshot("window", `${String(++stop).padStart(2, "0")}-${file}.png`);
}
function ask(session, question) {
  session.prompt(question);
  let reply = "";
  for (let i = 0; i < 10; ++i) {
    const tick = session.step()[0];
    expect(tick.ok, "a tick failed");
    reply += tick.text;
    if (tick.text.trim() === ".") break;
  }
  return reply.trim();
}

const story = "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map " +
  "in the tower . dora waits in the garden . a cat sleeps all day . carl hides the gold ring in the barn . " +
  "emil sits in the kitchen . fay thinks of the red lamp .";

const s = lab.open({ model: "demo" });
s.prompt(story);
view.set("map", { quantity: "received" });
show("A session on the demo model has just read a small story. The map shows its KV cache: one column per " +
  "token, one line per layer, coloured by the attention that each row has received. The strip below is the text itself.",
  ["mirror", "map"], "story");

view.set("map", { quantity: "brightness" });

expect(ask(s, "where is the silver key ?").includes("cellar"), "the model finds the key");
show("Asked where the silver key is, it answers from the cache. Every answered token was one tick: F10 steps, " +
  "and brightness fades from what nobody attends to.", ["events", "map"], "answer");

show("Model lists what it would say next, and how sure it is. Events lists what the last tick did, with " +
  "times and bytes. Now you: press Next, and the session does a step.", ["model", "events"], "model");

const told = s.step()[0];
show(`That was a tick: it appended ${JSON.stringify(told.text.trim())}, one column more in the map, and Events shows where its time went. ` +
  "F10 does it outside the tour, F5 runs on, Ctrl+Z takes an edit back.", ["strip", "events"], "step");

const before = s.tick;
const place = s.tokens().indexOf(s.tokenise("cellar")[0]);
const edit = { action: "replace", positions: [place], new_token_ids: s.tokenise("attic") };
const plan = s.plan([edit]);
view.set("compose", { draft: [edit] });
view.focus({ row: place });
show(`Now the knife: "cellar" at position ${place} becomes "attic". Compose shows the plan before anything ` +
  `changes: ${plan.newRows} new row, ${plan.stale} rows that go stale.`, ["compose"], "plan");

s.inject(edit);
view.set("compose", { draft: "" });
s.apply();
const drift = s.drift();
view.focus({ layer: 2, row: place });
view.set("map", { quantity: "staleness" });
show("Applied. Cache and mirror changed together; the later rows of all layers but the first still remember the " +
  "old text. The map shows which: they are stale.", ["mirror", "map"], "edited");

view.set("map", { quantity: "drift_v" });
show("Drift says how far they are from a rebuild: some values of the last layer are off by " +
  `${(100 * drift.v[drift.v.length - 1]).toFixed(0)} %. The rail below the map marks stale rows in any colouring.`,
  ["model", "map"], "drift");
expect(drift.k[0] === 0 && drift.v[0] === 0, "layer 0 equals a rebuild after any edit");

s.rebuild();
view.set("map", { quantity: "brightness" });
expectNear(s.drift().v, drift.v.map(() => 0), {}, "a rebuild leaves no drift");
expect(ask(s, "where is the silver key ?").includes("attic"), "the answer follows the edit");
show("Rebuild computes every row again from the tokens: the drift is zero, and the answer is the attic.",
  ["strip", "numbers"], "rebuilt");

const ghost = s.ledger(place);
expect(ghost.state === "replaced");
view.focus({ ledger: place });
show("Nothing is forgotten: the ledger keeps the replaced token as a ghost, and Row History tells what " +
  "happened to it, tick by tick.", ["ledger", "history"], "history");

expect(s.invariants().every((one) => one.ok), "every invariant holds");
show("Invariants are checked after every tick, and in full on request.", ["invariants"], "invariants");

s.goto(before);
expect(s.tokens()[place] === s.tokenise("cellar")[0]);
show("Undo works for everything. Going back keeps the future as a branch; here the key is in the cellar again.",
  ["console", "map"], "back");

show("Time line has every tick on one axis, also those of the branch that was left, with marks for edits and for the " +
  "focused row. A click shows a tick, a double click goes there, dragging limits the ticks of all views.",
  ["timeline"], "timeline");

s.inject({ action: "replace", positions: [place], new_token_ids: s.tokenise("garden") }, { now: true });
show("Difference compares the shown state with the one before the last edit, or with another tick, a branch, a lane or a " +
  "file: by layer and by row. Here one word more has changed.", ["difference"], "difference");
s.undo();

// --- plain KV management ---------------------------------------------------------------------------------------------
const plain = lab.open({ model: "demo", capacity: 120, staging: 16, history_bytes: 1 << 20 });
const words = plain.tokenise(story), many = (n) => Array.from({ length: n }, (_, i) => words[i % words.length]);
plain.promptIds(many(60));
plain.step(50, { tokens: many(50) });
expect(plain.position() === 110 && plain.remaining() === 10, "110 of 120 rows are written");
const hash = plain.stateHash();
expectError(() => plain.prefill(plain.tokenise(story)), "capacity");
expect(plain.stateHash() === hash, "what does not fit changes nothing");
plain.settings({ layout: "paged:block=16" });
view.set("map", { quantity: "age" });
view.focus({ row: 100, layer: 1 });
show("The same engine is a plain KV cache. This one has room for 120 rows: 110 are written, and a text that does not fit is " +
  "refused before anything changes. Storage shows where each row lies; the rows have just moved into pages of 16.",
  ["storage", "mirror"], "storage");
plain.close();

// --- SmartKV ---------------------------------------------------------------------------------------------------------
const smart = lab.open({ model: "demo", policy: "smartkv:ratio=0.25", residency: "kv_head" });
const recall = JSON.parse(lab.readText("resource:prompts/recall-256.json")).sets[0].stories[0];
smart.promptIds([1, ...smart.tokenise(recall.text)]);
view.set("map", { quantity: "residency" });
expect(smart.policies().layers.every((layer) => !layer.broken && layer.rows === layer.requested), "every head keeps what was asked for");
show(`SmartKV: a story of ${recall.tokens} tokens has come in, and a quarter of its rows stay. For each KV head a small network has ` +
  "read every key once and said how long it will be looked at; the map shows what each head keeps.",
  ["smartkv", "audit", "map"], "smartkv");
smart.close();

// --- a ring of quantised rows ----------------------------------------------------------------------------------------
const ring = lab.open({ model: "demo", layout: "ring_fused", kv: { k: "bf16", v: "int8" }, ring: { window: 64 }, staging: 16, prefill_chunk: 16 });
ring.promptIds(words);
ring.step(100, { tokens: many(100) });
const wraps = ring.ring(0).wraps;
expect(wraps > 0 && ring.ring(0).filled === 64, "the ring has wrapped and holds its window");
expect(Math.max(...ring.quantisation().map((layer) => layer.v.worst)) < 0.03, "rows read back within the step of their type");
view.focus({ row: ring.length - 20, layer: 1 });
view.set("quant", { follow: true });
show(`A ring holds the last 64 rows and forgets the rest. Its pointer has wrapped ${wraps === 1 ? "once" : `${wraps} times`}, no row was moved, and V is stored in ` +
  "8 bits with a scale for each row and head. Quantisation measures what that costs.", ["rings", "quant"], "ring");
view.set("quant", { follow: false });
ring.close();

// --- wLOD ------------------------------------------------------------------------------------------------------------
const far = JSON.parse(lab.readText("resource:prompts/recall-1024.json")).sets[0].stories[0];
const deep = lab.open({ model: "demo", wlod: { budget: 352, moments: 4096, gist: "trained", lens: "attention", start_tokens: 64, start_gists: 1024,
                        protect: 64, cooldown: 0, every: 1000, recompute: "incremental" } });
deep.prefill([1, ...deep.tokenise(far.text)], { last: false });
const gists = () => deep.tree().entries.filter((entry) => entry.level > 0).length;
const collapsed = gists();
deep.prefill(deep.tokenise(" " + far.questions[0].text), { last: false });
view.set("map", { quantity: "attention" });
view.set("tree", { colour: "change" });
deep.refocus(2);
expect(collapsed > 0 && gists() < collapsed, "focus opened a block");
show(`wLOD: a text of ${far.tokens} tokens stands as ${deep.tree().length} entries. Far blocks are gists of 32 tokens. A question ` +
  "came, and the focus allocator opened the blocks that it looks at; only what the edit made dirty was computed.", ["ledger", "tree"], "wlod");
deep.close();

// --- policies side by side -------------------------------------------------------------------------------------------
const base = lab.open({ model: "demo" });
base.prompt(story);
const lanes = lab.lanes(base, [{ policy: "h2o:ratio=0.4" }, { policy: "streaming_llm:ratio=0.4" }, { kv: { k: "int8", v: "int8" } }]);
lanes.show();
lanes.prompt("where is the gold ring ?");
lanes.step(6);
show("Lanes run sessions in lockstep on the same tokens: here two policies that keep 40 % of the rows, and rows of 8 bits. " +
  "KL, loss and kept attention say what each costs beside the reference.", ["lanes"]);
lanes.close();

lab.sweep({ name: "tour", base: { model: "demo" },
  axes: [{ name: "policy", key: "policy", values: ["h2o", "streaming_llm"] }, { name: "budget", budget: "ratio", values: [0.1, 0.5] }],
  seeds: [1], prompts: [{ name: "recall-256", file: "resource:prompts/recall-256.json", stories: 1, questions: 4 }] }, { jobs: 1, resume: true });
show("A sweep does that for every combination of settings, and asks questions about stories: recall against budget, KL " +
  "against bytes. New Sweep in the menu Run has a form for it; results are tables and plots for a paper.", ["sweep"]);

// --- a bug to find ---------------------------------------------------------------------------------------------------
const sick = lab.open({ model: "demo", faults: true, check: { level: "full" } });
sick.prompt(story);
sick.bug("zeroed_rows");
sick.step(6);
const found = sick.invariants().filter((one) => !one.ok);
expect(found.length > 0, "a check finds the planted bug");
show(`Last, the bug clinic (Help > Bug Clinic): bugs that people met in other programs, planted here. This session has one; the lamp ` +
  `below is red, and Invariants names what broke: ${found[0].id}. A click on the lamp leads to layer and row.`,
  ["invariants", "row"], "clinic");
sick.close();

// --- the end ---------------------------------------------------------------------------------------------------------
s.show();
view.set("map", { quantity: "brightness" });
view.theme("light");
show("Everything you saw was done by a script; Console prints the line for every click. The palette (Ctrl+P) " +
  "finds all commands, the theme follows your eyes. Enjoy.", ["log", "console"], "light");
view.theme("dark");
view.caption("");
expect(!headless || stop === 19, `${stop} pictures`);
log(`tour: ${stop} pictures`);
