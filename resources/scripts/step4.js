// SPDX-License-Identifier: Apache-2.0
// Step 4, end to end: a tick's action list changes cache and mirror together. Document 000's
// captured list has two pairs that become one token each and one added token.
const words = (s, text) => s.tokenise(text);

for (const executor of ["batch", "descending"]) {
  const s = lab.open({ model: "demo", executor });
  s.show();
  s.prompt("anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower . a cat sleeps all day . dora waits in the garden .");
  const before = s.tokens(), length = s.length;

  // A list that cannot be carried out is refused whole.
  const hash = s.stateHash();
  expectError(() => s.inject([{ action: "replace_pair", original_pos1: 12, original_pos2: 13, new_token_ids: words(s, "night") },
                              { action: "delete", position: 13 }]), "overlap");
  expectError(() => s.inject([{ action: "delete", position: length }]), "out_of_range");
  expectError(() => s.inject([{ action: "replace_pair", original_pos1: 3, original_pos2: 4, new_token_ids: [] }]), "bad_action");
  expect(s.stateHash() === hash, "a refused list changes nothing");

  s.inject([{ action: "replace_pair", original_pos1: 10, original_pos2: 11, new_token_ids: words(s, "rain") },
            { action: "replace_pair", original_pos1: 25, original_pos2: 26, new_token_ids: words(s, "dog") },
            { action: "add", token_id: words(s, "where")[0] }]);
  const report = s.apply();
  expect(report.ok && report.violations.length === 0, "the tick keeps every invariant");
  expect(s.length === length - 2 + 1, "two pairs became one token each, one was added");

  const mirror = s.pos2ledger(), after = s.tokens();
  expect(mirror[10] === length && mirror[24] === length + 1 && mirror[s.length - 1] === length + 2, "ledger ids ascend by final position, then the adds");
  expect(after[9] === before[9] && after[11] === before[12], "what stood beside the edit still does");
  const phases = s.rows(0).map((row) => row.phase);
  expect(phases.every((phase, i) => i === 0 || phase > phases[i - 1]), "phases strictly increase");
  expect(s.ledger(10).state === "replaced" && s.ledger(length).parents.length === 2, "the ledger keeps both generations");

  const drift = s.drift();
  expect(drift.k[0] === 0 && drift.v[0] === 0, "layer 0 depends on the token alone");
  log(`${executor}: ${s.length} rows, drift of V by layer ${drift.v.map((v) => v.toFixed(4)).join(" ")}, KL ${drift.kl.toFixed(5)}`);
  view.screenshot("mirror", `step4_${executor}.png`, { width: 1200, height: 900 });

  s.rebuild();
  expect(s.drift().kl === 0, "a rebuild leaves no drift");
  s.undo();
  s.undo();
  expect(s.stateHash() === hash, "undo restores the state before");
}
