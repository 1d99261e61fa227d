// SPDX-License-Identifier: Apache-2.0
// The fault drill: every kind of damage is caught by the invariant that exists for it, a rebuild
// mends what can be mended, and undo brings back the state before.
const s = lab.open({ model: "demo", faults: true, check: { level: "cheap", scrub_period: 4 } });
s.show();
s.prompt("anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower .");
s.step(2);

const broken = () => s.invariants().filter((i) => !i.ok).map((i) => i.id);
expect(broken().length === 0, "nothing is wrong to begin with");

for (const kind of ["value_bit", "tag_bit", "checksum_bit", "map_drop", "map_swap"]) {
  const hash = s.stateHash();
  let done;
  try {
    done = s.fault(kind, { layer: 1, index: 5, seed: 3 });
  } catch (error) {
    if (error.code !== "bad_fault") throw error;
    log(`${kind}: ${error.message}`);
    continue;
  }
  const caught = broken();
  expect(caught.length > 0, `${kind} is caught`);
  log(`${kind}: caught by ${caught.join(", ")}`);
  if (kind === "value_bit") view.screenshot("invariants", "fault_value_bit.png", { width: 1100, height: 620 });
  s.undo();
  expect(s.stateHash() === hash && broken().length === 0, `undo mends ${kind}`);
}

// A step that fails leaves the old state or only the token.
for (const kind of ["allocation", "kernel"]) {
  const length = s.length;
  s.inject([{ action: "delete", position: 3 }]);
  s.fault(kind, { n: 1 });
  const report = s.step()[0];
  expect(!report.ok && report.error.code === "fault", `${kind} is reported`);
  expect(s.length === length + (report.token === null ? 0 : 1), `${kind}: the edits were dropped, generation went on`);
  expect(broken().length === 0, `${kind}: every invariant holds`);
  log(`${kind}: ${report.error.message || report.error.what}; ${s.length} rows`);
}
