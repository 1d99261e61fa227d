// SPDX-License-Identifier: Apache-2.0
// The pictures of the manual: one session per subject, every picture with the lines that lead to it.
// usage: kvlab run pictures.js --out DIR

const known = view.list();
// Pictures are as high as their content; others have 750 pixels.
const heights = { window: 1000, map: 470, strip: 200, mirror: 360, ledger: 200, history: 200, events: 400, compose: 320,
  model: 520, console: 240, log: 200, invariants: 500, storage: 420, audit: 240, smartkv: 700, lanes: 470, tree: 640, row: 640, attention: 360, jobs: 260,
  difference: 420, watches: 240, timeline: 260, notes: 260 };
function picture(what, name) {
  const size = { width: what === "window" ? 1600 : 1200, height: heights[what] || 750 };
  view.screenshot(what, `${name || "view-" + what}.png`, size);
}
/** A view of its own, if the window has one. */
function viewPicture(id, options) {
  if (!known.includes(id)) return;
  view.show(id);
  if (options) view.set(id, options);
  picture(id);
}
function ask(session, question) {
  session.prompt(question);
  for (let i = 0; i < 10 && session.step()[0].text.trim() !== "."; ++i);
}

const story = lab.readText("resource:demo/story.txt").trim();
const question = "where is the silver key ?";

// --- reading, editing, rebuilding ------------------------------------------------------------------------------------
const s = lab.open({ model: "demo", faults: true });
s.prompt(story);
view.set("map", { quantity: "received" });
viewPicture("map");
ask(s, question);
const place = s.tokens().indexOf(s.tokenise("cellar")[0]);
view.focus({ row: place, layer: 2 });
const edit = { action: "replace", positions: [place], new_token_ids: s.tokenise("attic") };
s.inject(edit);
viewPicture("compose");
picture("map", "edit-queue");
s.apply();
s.drift();
view.focus({ row: place, layer: 2 });
view.set("map", { quantity: "staleness" });
picture("map", "edit-stale");
view.set("map", { quantity: "drift_v" });
viewPicture("events");
view.show("mirror");
view.show("model");
view.show("events");
picture("window", "window");
viewPicture("ledger", { state: "edited" });
view.set("ledger", { state: "all" });
view.focus({ ledger: place });
viewPicture("history");
view.set("map", { quantity: "brightness" });
viewPicture("strip", { quantity: "brightness", ghosts: true });
for (const [id, args] of [["step", {}], ["undo", {}], ["prompt", { text: question }], ["drift", {}], ["undo", {}]]) {
  view.command(id, args);
  picture("console");  // waits for the command
}
viewPicture("console");
for (let i = 0; i < 6; ++i) {
  s.step();
  s.drift();
}
viewPicture("numbers");
for (const watched of ["kl", "rows(layer==2)", "brightness(ledger==40)", "exactness(ledger==100)", "length % 4 == 0"]) s.watch(watched);
for (let i = 0; i < 6; ++i) s.step();
viewPicture("watches");
s.clearWatches();
view.command("break_add", { condition: `tick == ${s.tick + 2}` });
view.command("run", { max_ticks: 100 });
view.command("drift");
viewPicture("jobs");
s.note("the attic takes the place of the cellar", { tick: s.tick - 12, layer: 2, ledger: place });
s.note("", { tick: s.tick - 8 });
s.note("from here the answer is the attic", { tick: s.tick - 5 });
s.note("the rows behind the edit stay stale until a rebuild", { layer: 3, ledger: place + 4 });
viewPicture("notes");
view.command("break_clear");
s.fault("tag_bit", { layer: 1, index: 5 });
s.step();
viewPicture("invariants");
view.focus({ row: 5, layer: 1 });
viewPicture("mirror");
view.command("load_cache", { path: "missing.safetensors" });
viewPicture("log");
s.close();

// --- the model's choice between several words, before and after an edit ----------------------------------------------
const open = lab.open({ model: "demo" });
open.prompt(`${story} dora goes to the`);
open.inject({ action: "replace", positions: [open.tokens().length - 4], new_token_ids: open.tokenise("emil") });
open.apply();
view.focus({ row: open.tokens().length - 2, layer: 2 });
viewPicture("row", { compare: "before" });
open.rebuild();
view.focus({ row: open.tokens().length - 2, layer: 2 });
viewPicture("difference");
viewPicture("model");
viewPicture("attention", { lines: "heads", follow: true });
view.set("attention", { follow: false });
open.close();

// --- branches --------------------------------------------------------------------------------------------------------
const tree = lab.open({ model: "demo" });
tree.prompt(story);
ask(tree, question);
tree.step(20);
tree.inject({ action: "replace", positions: [place], new_token_ids: tree.tokenise("attic") }, { now: true });
tree.step(10);
view.focus({ ledger: place, layer: 2 });
const tip = tree.tick;
tree.goto(12);
tree.settings({ policy: "h2o:capacity=60,window=8" });
tree.step(30);
tree.goto(20);
tree.inject({ action: "delete", position: 20 }, { now: true });
tree.rebuild();
tree.step(6);
tree.goto(tip, "main");
tree.break("changed(length)", { log: true });
tree.step(4);
viewPicture("timeline");
tree.close();

// --- storage, quantisation, rings ------------------------------------------------------------------------------------
const stored = lab.open({ model: "demo", layout: "paged:block=16", kv: { k: "int8", v: "int8" }, capacity: 256,
  staging: 16, history_bytes: 65536 });
stored.prompt(story);
stored.step(4);
viewPicture("storage");
stored.quantisation();
viewPicture("quant", { figure: "relative", follow: true });
view.focus({ row: 30, layer: 2 });
view.show("row");
view.set("row", { compare: "rebuild" });
view.command("row_rebuild");
viewPicture("row");
view.command("attention_measure");
viewPicture("attention", { lines: "heads" });
view.set("quant", { follow: false });
stored.close();
const ring = lab.open({ model: "demo", layout: "ring_fused", ring: { window: 48 }, prefill_chunk: 16, staging: 16 });
ring.prompt(story);
ring.step(40);
viewPicture("rings");
ring.close();

// --- lanes -----------------------------------------------------------------------------------------------------------
const base = lab.open({ model: "demo" });
base.prompt(story);
const lanes = lab.lanes(base, [{ policy: "h2o:ratio=0.4" }, { policy: "streaming_llm:ratio=0.4" },
  { layout: "ring_fused", ring: { window: 48 } }]);
lanes.show();
lanes.prompt(question);
lanes.step(8);
viewPicture("lanes");
lanes.score(" where is the gold ring ? the gold ring is in the barn . where is the old map ? the old map is in the harbor .",
  { each: true });
view.set("lanes", { colour: "loss" });
picture("lanes", "view-lanes-loss");
view.set("lanes", { colour: "rows" });
lanes.close();
base.close();

// --- wLOD and sweeps -------------------------------------------------------------------------------------------------
const long = lab.open({ model: "demo", wlod: { budget: 224, gist: "trained", moments: 16384, every: 16 } });
long.prompt(Array.from({ length: 12 }, () => story).join(" "));
long.prompt(question);
long.step(20);
viewPicture("tree");
long.close();
lab.sweep({ name: "manual", base: { model: "demo" },
  axes: [{ name: "policy", key: "policy", values: ["h2o", "streaming_llm"] },
    { name: "budget", budget: "ratio", values: [0.1, 0.25, 0.5] }],
  seeds: [1], prompts: [{ name: "recall-256", file: "resource:prompts/recall-256.json", stories: 2, questions: 8 }] },
{ out: "manual.sweep", jobs: 2 });
viewPicture("sweep");

// --- policies --------------------------------------------------------------------------------------------------------
const kept = lab.open({ model: "demo", policy: "smartkv:ratio=0.4,sinks=4,window=16" });
kept.prompt(story);
ask(kept, question);
viewPicture("audit");
kept.measureLifespans();
viewPicture("smartkv");
