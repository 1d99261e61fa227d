// SPDX-License-Identifier: Apache-2.0
// kvlab's side of the round trip: load a live cache, edit it, save it, and go on greedily here too.
// kvlab run kvlab_roundtrip.js --out DIR -- MODEL FORM AFTER_EDIT COUNT; reads and writes in DIR.
const [model, form, afterEdit, count] = args;
const s = lab.open({ model, dtype: "f32", position: "context", after_edit: afterEdit, capacity: 128 });
s.loadCache("prompt.safetensors");
const loaded = s.tokens();
const n = s.length;
s.inject([
  { action: "replace_pair", original_pos1: 3, original_pos2: 4, new_token_ids: [11] },
  { action: "delete", position: n - 6 },
  { action: "insert", position: 7, token_ids: [20, 21] },
  { action: "add", token_id: 9 },
]);
s.apply();
expect(s.invariants().every((i) => i.ok), "invariants");
const saved = s.saveCache("edited.safetensors", { form });
expect(saved.form === form && saved.rows === n + 1, "what was saved");
const edited = s.tokens();
const drift = s.drift();
const reports = s.step(Number(count));
expect(reports.every((r) => r.ok), "a tick failed");
s.saveCapture("session.kvcap");
log("RESULT " + JSON.stringify({ loaded, edited, continued: reports.map((r) => r.token), kl: drift.kl }));
