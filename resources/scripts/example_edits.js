// SPDX-License-Identifier: Apache-2.0
// Edits of a cache in the middle of a text: a list is planned, applied as one commit, and asked about. Cache and mirror
// change together; layer 0 never drifts; the rest of the old text in later rows is measured, and a rebuild removes it.
//   kvlab run example_edits.js --out DIR [--update]      writes pictures; expectations are in expected/

view.freezeClock();
const s = lab.open({ model: "demo", dtype: "f32" });
s.prompt(lab.readText("resource:demo/story.txt").trim());
const word = (text) => s.tokenise(text)[0];
const place = s.tokens().indexOf(word("cellar")), rain = s.tokens().indexOf(word("wind")) - 1;

// Two replaced tokens become one, a sentence leaves, one word comes: a single list, planned before anything changes.
const list = [
  { action: "replace_pair", original_pos1: place, original_pos2: place + 1, new_token_ids: [word("attic")] },
  ...[0, 1, 2, 3, 4, 5].map((i) => ({ action: "delete", position: rain + i })),
  { action: "insert", position: s.length, token_ids: [word(".")] },
];
const plan = s.plan(list), before = { hash: s.stateHash(), length: s.length };
expect(s.stateHash() === before.hash, "a plan changes nothing");
expect(plan.lengthAfter === before.length - 1 - 6 + 1, `the plan says ${plan.lengthAfter} tokens`);
expectError(() => s.inject([{ action: "delete", position: 9999 }]), "out_of_range");
view.set("compose", { draft: list });
view.focus({ row: place });
for (const id of ["mirror", "compose"]) view.show(id);
picture("plan");

s.inject(list);
view.set("compose", { draft: "" });
const report = s.apply();
expect(report.ok && report.violations.length === 0, "the list was applied");
expect(s.length === plan.lengthAfter && s.ledger(place).state === "replaced", "as planned");
for (const layer of [0, 1, 2, 3]) expectNear(s.pos2ledger(layer), s.pos2ledger(), {}, `layer ${layer} follows the mirror`);
expect(s.invariants().every((one) => one.ok), "every invariant holds");
const drift = s.drift({ rows: true });
expect(drift.k[0] === 0 && drift.v[0] === 0, "layer 0 equals a rebuild after any edit");
expect(Math.max(...drift.v) > 0.01, "later layers still remember the old text");
view.set("map", { quantity: "drift_v" });
view.focus({ layer: 2, row: place });
for (const id of ["mirror", "history"]) view.show(id);
picture("edited");
expectDump("mirror", "expected/edits-mirror.txt");
expectDump({ context: s.text(), replaced: s.ledger(place), history: s.history(place) }, "expected/edits.json");

s.rebuild();
expectNear(s.drift().v, [0, 0, 0, 0], {}, "a rebuild leaves no drift");
s.prompt("where is the silver key ?");
const reply = s.step(6).map((tick) => tick.text).join("");
expect(reply.includes("attic"), `the reply follows the edit: ${reply}`);
s.goto(1);
expect(s.stateHash() === before.hash, "undo brings back the state before the edits");
log(`edits: ${before.length} tokens became ${plan.lengthAfter}; "${reply.trim()}"`);

function picture(name) {
  for (const theme of ["light", "dark"]) {
    view.theme(theme);
    view.screenshot("window", `edits-${name}-${theme}.png`, { width: 1600, height: 1000 });
  }
}
