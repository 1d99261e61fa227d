// SPDX-License-Identifier: Apache-2.0
// The fault drill: every kind of damage is caught by name, and a rebuild repairs it; every
// failing step leaves the old state, or the token added alone.

const story = "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower .";
const open = () => {
  const s = lab.open({ model: "demo", faults: true, check: { level: "full" } });
  s.prompt(story);
  return s;
};

// Without the door nothing gets in.
const closed = lab.open({ model: "demo" });
closed.prompt(story);
const error = expectError(() => closed.fault("value_bit"));
log(`closed door: ${error.code}`);

// Damage: named by the invariant that exists for it.
const damage = { value_bit: "row_checksums", tag_bit: "row_tags", checksum_bit: "row_checksums", map_drop: null, map_swap: null };
for (const kind of Object.keys(damage)) {
  const s = open();
  expect(s.invariants().every((i) => i.ok));
  const hash = s.stateHash();
  s.fault(kind, { layer: 1, seed: 7 });
  const broken = s.invariants().filter((i) => !i.ok);
  expect(broken.length > 0, `${kind} is caught`);
  if (damage[kind]) expect(broken.some((i) => i.id === damage[kind]), `${kind} is named`);
  log(`${kind}: ${broken.map((i) => i.id).join(", ")}: ${broken[0].detail}`);
  s.rebuild();
  expect(s.invariants().every((i) => i.ok), `${kind} is mended`);
  const drift = s.drift();
  expect(Math.max(...drift.k, ...drift.v) === 0, `nothing drifts after ${kind}`);
  expect(s.stateHash() === hash, `${kind}: the state is what it was`);
  s.close();
}

// A step that fails: the old state, or the token added alone; never something in between.
for (const kind of ["allocation", "kernel", "copy"]) {
  for (let n = 1; n <= 4; ++n) {
    const s = open();
    const length = s.length, hash = s.stateHash();
    s.inject({ action: "replace", positions: [8], new_token_ids: s.tokenise("attic") });
    s.fault(kind, { n });
    const report = s.step()[0];
    expect(s.invariants().every((i) => i.ok), `${kind} ${n} leaves a sound state`);
    expect(report.ok || s.length === length || s.length === length + 1, `${kind} ${n}: old state or the token alone`);
    log(`${kind} ${n}: ${report.ok ? "not reached" : report.error.code + (s.length > length ? ", token added alone" : ", old state")}`);
    s.close();
  }
}
log("fault drill: all caught, all mended");
