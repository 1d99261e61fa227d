// SPDX-License-Identifier: Apache-2.0
// A ring of 64 rows after its wrap: the circle, its text, and the rows as values.
let s;
before(() => {
  s = lab.open({ model: "demo", layout: "ring_fused", kv: { k: "bf16", v: "int8" }, ring: { window: 64 }, staging: 16, prefill_chunk: 16 });
  const words = s.tokenise(lab.readText("resource:demo/story.txt"));
  s.promptIds(Array.from({ length: 100 }, (_, i) => words[i % words.length]));
});
after(() => s.close());

test("a ring keeps its window", () => {
  expect(s.ring(0).wraps > 0 && s.ring(0).filled === 64, "the ring has wrapped and is full");
  view.focus({ layer: 1, row: 80 });
  expectDump("rings", "expected/rings.txt");
  expectImage("rings", "expected/rings.png", { width: 900, height: 500 });
});

test("the ring's slots are those of the last tokens", () => {
  expectDump(s.ring(0), "expected/ring-0.json");
});
