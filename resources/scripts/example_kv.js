// SPDX-License-Identifier: Apache-2.0
// A plain KV cache from its first row to its last: position, remaining, isFull; overflow that changes nothing; saving,
// loading and going on; another layout with the same content; reset.
//   kvlab run example_kv.js --out DIR [--update]         writes pictures; expectations are in expected/

view.freezeClock();
const capacity = 64, steps = [];
const open = (more = {}) => lab.open(Object.assign({ model: "demo", dtype: "f32", capacity, staging: 16, history_bytes: 1 << 20 }, more));
const s = open();
const note = (what) => steps.push([what, s.position(), s.remaining(), s.isFull(), s.bytes().live]);
note("open");
const ids = s.tokenise(lab.readText("resource:demo/story.txt").trim());
s.promptIds(ids.slice(0, 40));
note("prompt of 40");
s.step(20, { tokens: ids.slice(40, 60) });
note("20 decoded");
expect(s.position() === 60 && s.remaining() === 4 && !s.isFull(), "60 of 64 are written");

// A prompt that does not fit is refused before anything is written.
const before = s.stateHash();
log(expectError(() => s.prefill(ids.slice(60, 70)), "capacity").message);
expect(s.stateHash() === before, "a prompt that does not fit changes nothing");
s.step(4, { tokens: ids.slice(60, 64) });
note("4 decoded");
expect(s.isFull() && s.remaining() === 0, "full");
const full = s.stateHash(), over = s.step(1, { tokens: [ids[64]] })[0];
expect(!over.ok && s.stateHash() === full, "a step into a full cache changes nothing");

// Saved, loaded, gone on: equal to going on.
s.undo();
s.saveCache("cache.safetensors");
const other = open();
other.loadCache("cache.safetensors");
for (const one of [s, other]) one.step(1, { tokens: [ids[63]] });
expectNear(other.logits(), s.logits(), {}, "a loaded cache goes on with the same logits");

// The same content in other forms.
const content = s.rows(2).map((row) => [row.ledger, row.checksum]);
for (const layout of ["paged:block=16", "contiguous_splice", "indirection"]) {
  s.settings({ layout });
  expectNear(s.rows(2).map((row) => [row.ledger, row.checksum]), content, {}, `${layout} holds the same rows`);
  expect(s.invariants().every((one) => one.ok), `${layout}: every invariant holds`);
}
s.settings({ layout: "paged:block=16" });
s.show();
view.set("map", { quantity: "age" });
view.focus({ row: 44, layer: 2 });
for (const id of ["storage", "mirror"]) view.show(id);
for (const theme of ["light", "dark"]) {
  view.theme(theme);
  view.screenshot("window", `kv-${theme}.png`, { width: 1600, height: 1000 });
}
expectDump("mirror", "expected/kv-mirror.txt");
s.reset();
note("reset");
expect(s.position() === 0 && s.remaining() === capacity && s.bytes().live === 0, "reset forgets all");
expectDump(steps, "expected/kv.json");
log("kv: 64 rows written, one too many refused, saved and loaded, reset");
