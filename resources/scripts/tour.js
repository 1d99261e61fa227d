// SPDX-License-Identifier: Apache-2.0
// The guided tour: a session on the demo model, one edit of its memory, and every view on the way.
// In the window each caption waits for Next; without a display the pictures of each stop are written.
// usage: kvlab run tour.js --out DIR

const headless = !view.interactive();
const known = view.list();
let stop = 0;
function show(caption, ids, file) {
  for (const id of ids) if (known.includes(id)) view.show(id);
  view.caption(caption);
  if (headless) view.screenshot("window", `${String(++stop).padStart(2, "0")}-${file}.png`);
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
  "times and bytes.", ["model", "events"], "model");

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

view.theme("light");
show("Everything you saw was done by a script; Console prints the line for every click. The palette (Ctrl+P) " +
  "finds all commands, the theme follows your eyes. Enjoy.", ["log", "console"], "light");
view.theme("dark");
view.caption("");
log(`tour: ${stop} pictures`);
