// SPDX-License-Identifier: Apache-2.0
// A ring of quantised rows beside a cache that rolls all its rows on every write: keys in bf16, values in int8, a window
// of 96 rows. The ring wraps several times, rows and scales stay together, and both read the same bits.
//   kvlab run example_ring.js --out DIR [--update]       writes pictures; expectations are in expected/

view.freezeClock();
const window = 96;
const open = (layout) => lab.open({ model: "demo", layout, kv: { k: "bf16", v: "int8" }, ring: { window }, staging: 32, prefill_chunk: 32, check: { level: "full" } });
const ring = open("ring_fused"), roll = open("ring_roll");
const ids = ring.tokenise(lab.readText("resource:demo/story.txt").trim());
for (const s of [ring, roll]) s.promptIds([1, ...ids]);

// Given tokens, so that every machine makes the same text.
let offset = ring.ring(0).offset;
for (let i = 0; i < 300; ++i) {
  for (const s of [ring, roll]) s.step(1, { tokens: [ids[i % ids.length]] });
  const now = ring.ring(0);
  expect(now.offset === ++offset && now.filled === Math.min(window, offset), `tick ${i}: the ring moves by one row`);
}
const state = ring.ring(0);
expect(state.wraps >= 2, `the ring has wrapped ${state.wraps} times`);
expect(ring.stateHash() === roll.stateHash(), "the ring reads what rolling on every write reads, bit for bit");

// An edit in a wrapped ring: the same in both.
const last = ring.length - 1;
for (const s of [ring, roll]) {
  s.inject([{ action: "replace", positions: [last - 20], new_token_ids: s.tokenise("attic") }, { action: "delete", position: last - 5 }]);
  expect(s.apply().ok, "the edit was applied");
}
expect(ring.stateHash() === roll.stateHash(), "an edit in a wrapped ring gives the same bits");
const worst = ring.quantisation().map((layer) => Math.max(layer.k.worst, layer.v.worst));
expect(Math.max(...worst) < 0.03, `rows read back within the step of their type, worst ${Math.max(...worst)}`);
for (const layer of [0, 1, 2, 3]) {
  const { k, v } = ring.storage(layer).counts;
  expect(k.nonFinite + v.nonFinite + k.clipped + v.clipped === 0, `layer ${layer}: nothing clipped, nothing NaN`);
}
expect(ring.invariants().every((one) => one.ok), "every invariant holds");

ring.show();
view.focus({ layer: 1, row: last - 20 });
view.set("map", { quantity: "residency" });
view.set("quant", { follow: true });
for (const id of ["rings", "quant"]) view.show(id);
for (const theme of ["light", "dark"]) {
  view.theme(theme);
  view.screenshot("window", `ring-${theme}.png`, { width: 1600, height: 1000 });
}
expectDump("rings", "expected/ring-rings.txt");
expectImage("rings", "expected/ring-rings.png", { width: 560, height: 640, tolerance: 48, share: 0.03 });
expectDump({ ring: ring.ring(0), record: ring.storage(0).record, residents: ring.pos2ledger(0).slice(-window) }, "expected/ring.json");
log(`ring: ${state.wraps} wraps, ${ring.storage(0).stride} bytes a row, equal to the roll`);
