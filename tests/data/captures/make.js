// SPDX-License-Identifier: Apache-2.0
// Writes the captures of this folder: a few ticks of each part of the engine. tests/scripts replays each and compares
// every state hash, so the files hold later versions to what this version did. Do not write a file anew to make its
// test pass: a hash that differs is a change of behaviour that somebody has to want.
//   kvlab run tests/data/captures/make.js --out tests/data/captures
const ids = (n, seed, vocab = 250) => {
  const out = [];
  for (let i = 0; i < n; ++i) out.push(3 + ((seed = (seed * 1664525 + 1013904223) % 4294967296) >>> 8) % vocab);
  return out;
};
const base = { model: "synthetic:tiny", threads: 1, capacity: 120, staging: 64, prefill_chunk: 16, history_bytes: 1 << 24, backend: "cpu" };
const pair = (first, second, tokens) => ({ action: "replace_pair", original_pos1: first, original_pos2: second, new_token_ids: tokens });
const remove = (position) => ({ action: "delete", position });
const insert = (position, tokens) => ({ action: "insert", position, token_ids: tokens });
const edits = (s) => { s.inject([pair(4, 5, [200]), remove(11), insert(20, [9, 10])]); s.step(2); };

/// Opens a session, captures what `run` does with it from the first call on.
function capture(name, manifest, run) {
  const s = lab.open(Object.assign({}, base, manifest));
  s.startCapture(name + ".kvcap");
  run(s);
  s.clearPending();
  const broken = s.invariants().filter((one) => !one.ok);
  expect(broken.length === 0, name + ": " + JSON.stringify(broken));
  s.stopCapture();
  log(name, "length", s.length, "tick", s.tick);
  s.close();
}

capture("edits", {}, (s) => {
  s.promptIds(ids(30, 1));
  s.step(3);
  edits(s);
  s.pin(2), s.setBrightness(s.pos2ledger()[3], 17);
  s.inject({ action: "replace", positions: [2, 3, 7], new_token_ids: [40, 41] }), s.apply();
  s.undo(), s.undo(), s.redo(), s.step(1);
  s.goto(3), s.inject([remove(0)]), s.apply(), s.step(1, { tokens: [77] });
  s.inject([remove(4), pair(8, 9, [12])]), s.stepAction(), s.stepAction(), s.rebuild(), s.step(1);
});
capture("edits_descending", { layout: "contiguous_splice", position: "absolute", absolute_overflow: "shift", executor: "descending", after_edit: "recompute" },
  (s) => { s.promptIds(ids(30, 2)), s.step(2), edits(s), s.evict(1, [2, 3], { now: true }), s.step(2), s.undo(), s.step(1); });
capture("edits_selective", { layout: "boolean_gather", position: "cache", after_edit: { selective: { ratio: 0.3 } }, new_rows: "embedding_only" },
  (s) => { s.promptIds(ids(30, 3)), edits(s), s.step(2), s.rebuild(), edits(s); });
capture("keys_at_write", { key_phase: "at_write", dtype: "f32", sampling: { temperature: 0.8, top_k: 20, repetition_penalty: 1.2, seed: 9 } },
  (s) => { s.promptIds(ids(30, 4)), s.step(3), edits(s), s.rebuild(), s.step(2); });
capture("culling", { brightness: { target: 20, compressor: "nearest", min_cosine: -1, decay: 20 } },
  (s) => { s.promptIds(ids(24, 5)), s.step(8), edits(s), s.step(4); });
capture("policies", { policy: "h2o:budget=6,window=8", layers: [{ match: "1", policy: "streaming_llm:sinks=2,window=10" }] }, (s) => {
  s.prefill(ids(20, 6), { last: false }), s.prefill(ids(10, 7), { last: false }), s.endPrefill();
  s.step(4);
  for (const policy of ["snapkv:capacity=12", "tova:budget=10", "keydiff:capacity=9", "expected_attention:capacity=10", "random:budget=6,window=3"])
    s.setPolicy(policy), s.promptIds(ids(6, 8)), s.step(2);
  s.setPolicy("full", 2), s.setPolicy("knorm:ratio=0.5", 0), s.promptIds(ids(12, 9)), s.step(2), s.undo(), s.step(1);
});
capture("smartkv", { model: "demo", policy: "smartkv:preset=paper,sinks=2,budget=12,window=6", capacity: 200 }, (s) => {
  s.prompt("anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower .");
  s.step(6), s.inject([remove(3)]), s.step(2);
});
capture("by_head", { residency: "kv_head", policy: "adakv:capacity=14,window=4", layout: "paged:block=4" }, (s) => {
  s.promptIds(ids(40, 10)), s.step(4);
  s.evict(1, [s.pos2ledger(1, { kvHead: 1 })[2]], { kvHead: 1, now: true });
  s.inject([insert(2, [7])]), s.step(2), s.compact(100), s.step(1);
});
capture("ring", { layout: "ring_pointer", ring: { window: 16, block_tokens: 3 }, kv: { k: "f16", v: "int8" } }, (s) => {
  s.promptIds(ids(40, 11)), s.step(6);
  const last = s.length - 1;
  s.inject([remove(last), insert(last - 4, [9])]), s.apply(), s.step(3), s.undo(), s.step(2);
});
capture("rings_and_masks", { layout: "ring_lut", ring: { window: 20, tail_only: true }, history_bytes: 0,
  layers: [{ match: "0-1", window: 10 }, { match: "2", layout: "ring_block_roll" }, { match: "3", layout: "ring_fused", kv: { k: "int8", v: "int8" } }] },
  (s) => { s.promptIds(ids(30, 12)), s.step(12), s.inject([remove(s.length - 3)]), s.step(4), s.rebuild(), s.step(2); });
capture("quantised", { kv: { k: "int8", v: "fp8-e4m3" }, weights: "int8", layout: "batch_splice" },
  (s) => { s.promptIds(ids(30, 13)), s.step(3), edits(s), s.rebuild(), s.step(2); });
capture("storage", {}, (s) => {
  s.promptIds(ids(20, 14)), s.step(2);
  s.setFormat("f16", "int8"), s.step(2);
  s.setLayout("paged:block=4"), s.step(1);
  s.setCapacity(60), s.step(2);
  s.setLayout("ring_roll", 1), edits(s), s.setFormat("", "f32", 2), s.step(1), s.undo(), s.undo(), s.step(1);
});
const wlod = { attention: "flat", budget: 64, moments: 2000, w: 32, w2: 1024, protect: 8, start_tokens: 16, cooldown: 0, every: 8 };
capture("wlod", { capacity: 0, wlod }, (s) => {
  s.promptIds(ids(150, 15)), s.step(4);
  const gist = s.tree().entries.find((one) => one.level > 0);
  s.expand(gist.node, { now: true }), s.step(2), s.collapse(gist.node, { now: true });
  s.refocus(2), s.inject([pair(s.length - 6, s.length - 5, [50, 51])]), s.apply();
  s.speculate([60, 61, 62]), s.rollback(), s.speculate([63, 64]), s.accept(), s.step(2), s.undo(), s.rebuild();
});
capture("wlod_pyramid", { model: "demo", capacity: 0, wlod: Object.assign({}, wlod, { attention: "pyramid", gist: "trained", lens: "script", recompute: "selective" }) }, (s) => {
  s.promptIds(ids(140, 16, 500)), s.step(2);
  s.setLensScores(s.tree().entries.map((one, i) => ((i * 7) % 5 - 2) / 4)), s.refocus(3), s.step(8);
});
{  // The ticks of a fork after it left.
  const s = lab.open(base);
  s.promptIds(ids(20, 17)), s.step(2), edits(s);
  const fork = s.fork();
  fork.startCapture("fork.kvcap");
  fork.step(2), fork.inject([remove(5)]), fork.apply(), fork.undo(), fork.step(1);
  fork.stopCapture();
  log("fork length", fork.length, "tick", fork.tick);
  fork.close(), s.close();
}
