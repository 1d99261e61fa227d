// SPDX-License-Identifier: Apache-2.0
// Damage on purpose: the text of Invariants about it, and about a sound session.
let s;
before(() => {
  s = lab.open({ model: "demo", faults: true, check: { level: "full" } });
  s.prompt("anna puts the silver key in the cellar .");
});
after(() => s.close());

test("a sound session has only green lamps", () => {
  s.invariants();
  expectDump("invariants", "expected/invariants-sound.txt");
});

test("a damaged row is named", () => {
  s.fault("value_bit", { layer: 1, seed: 7 });
  expect(s.invariants().some((one) => !one.ok), "an invariant is broken");
  expectDump("invariants", "expected/invariants-broken.txt");
  expectImage("invariants", "expected/invariants-broken.png", { width: 900, height: 520 });
});
