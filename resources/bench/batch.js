// SPDX-License-Identifier: Apache-2.0
// tokens a second of 1, 2, 4 and 8 sequences behind a shared prefix, SmartKV at a quarter of the rows against full; memory (--model)
const models = bench.model ? [bench.model] : bench.quick ? ["demo"] : ["demo", "synthetic:smollm-135m"];
const sizes = bench.quick ? [1, 2] : [1, 2, 4, 8];

/** Tokens that a batch of so many takes in a second, milliseconds until it is there, and its memory. */
function measured(s, size) {
  const out = {};
  let batch, took = 0, us = 0;
  out.open = bench.ms(() => { batch = lab.batch(s, size); });
  batch.step(1);
  for (const tick of batch.step(bench.quick ? 2 : 24)) {
    took += tick.sequences.filter((one) => one.took).length;
    us += tick.us;
  }
  out.decode = took * 1e6 / us;
  Object.assign(out, batch.bytes());
  batch.close();
  return out;
}

for (const model of models)
  for (const prefix of bench.quick ? [64] : [512, 4096]) {
    const sessions = [];
    for (const policy of [{ name: "full" }, { name: "smartkv", ratio: 0.25 }]) {
      log(`batch: prefix, ${policy.name}, ${model}`);
      const own = model === "demo" || policy.name === "full";  // the demo model has gates of its own
      const gates = own ? {} : { gates: bench.gates(sessions[0].s) };
      const s = bench.open({ model, probes: false, capacity: prefix + 256, policy: Object.assign(policy, gates) });
      s.promptIds(bench.tokens(prefix, bench.vocabulary(s)));
      sessions.push({ name: policy.name, s, runs: sizes.map(() => []) });
    }
    for (let turn = 0; turn < (bench.quick ? 1 : 5); ++turn)
      sizes.forEach((size, i) => {
        for (const one of sessions) one.runs[i].push(measured(one.s, size));
      });
    sizes.forEach((size, i) => {
      for (const { name, runs } of sessions) {
        const what = `${name}, ${model}, prefix ${prefix}, ${size} ${size === 1 ? "sequence" : "sequences"}`;
        const to = (others) => runs[i].map((run, turn) => run.decode / others[turn].decode), last = runs[i].slice(-1)[0];
        bench.row(what, "decode", "tokens/s", runs[i].map((run) => run.decode));
        bench.row(what, "to_one_sequence", "x", to(runs[0]));
        bench.row(what, "to_full", "x", to(sessions[0].runs[i]));
        bench.row(what, "open", "ms", runs[i].map((run) => run.open));
        bench.row(what, "memory", "bytes", last.total);
        bench.row(what, "memory_of_copies", "bytes", last.copies);
      }
    });
    for (const one of sessions) one.s.close();
  }
