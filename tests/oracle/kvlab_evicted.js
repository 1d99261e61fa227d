// SPDX-License-Identifier: Apache-2.0
// Evicts rows from single layers of a cache that transformers made, saves it, and goes on greedily.
// kvlab run kvlab_evicted.js --out DIR -- MODEL COUNT; reads and writes in DIR.
const [model, count] = args;
const s = lab.open({ model, dtype: "f32", capacity: 128 });
s.loadCache("prompt.safetensors");
const ids = s.pos2ledger(), layers = s.policies().layers.length;
const whole = s.step(Number(count)).map((r) => r.token);
for (let i = 0; i < Number(count); ++i) s.undo();
for (let layer = 0; layer < layers; ++layer) s.evict(layer, ids.slice(1, 3 + 5 * layer), { now: true });
s.saveCache("evicted.safetensors", { form: "hf_dynamic" });
const rows = [];
for (let layer = 0; layer < layers; ++layer) rows.push(s.rows(layer).length);
log("RESULT " + JSON.stringify({ rows, whole, continued: s.step(Number(count)).map((r) => r.token) }));
