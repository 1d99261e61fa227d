// SPDX-License-Identifier: Apache-2.0
// a tick of each eviction policy at its budget against full with as many rows; pruning at the end of the prompt; bytes (--model: snapkv and expected_attention)
const every = ["random", "sliding_window", "streaming_llm", "brightness", "h2o", "tova", "knorm", "keydiff", "snapkv", "pyramidkv",
  "adakv", "expected_attention", "smartkv"];
const seen = ["snapkv", "expected_attention"];
const cases = bench.model ? [[bench.model, 256, 1024, seen]] : bench.quick ? [["demo", 32, 64, every]]
  : [["demo", 256, 1024, every], ["synthetic:smollm-135m", 256, 1024, seen],
    ["synthetic:tinyllama-1.1b", 704, 1024, ["h2o", "tova", "smartkv"]]];

for (const [model, rows, prompt, policies] of cases) {
  const open = (policy) => bench.open({ model, capacity: prompt + 512, policy });
  const full = open({ name: "full" }), vocabulary = bench.vocabulary(full);
  full.promptIds(bench.tokens(rows, vocabulary));
  for (const policy of policies) {
    log(`policy: ${policy} on ${model}`);
    const gates = policy === "smartkv" ? { gates: bench.gates(full) } : {};
    const s = open(Object.assign({ name: policy, capacity: rows }, gates));
    const what = `${policy}, ${model}, ${prompt} -> ${rows} rows`;
    s.prefill(bench.tokens(prompt, vocabulary), { last: false });
    const before = s.bytes().allocated;
    bench.row(what, "prune", "ms", bench.us(s.endPrefill()) / 1000);
    bench.row(what, "bytes_live", "bytes", s.bytes().live);
    bench.row(what, "bytes_share", "x", s.bytes().allocated / before);
    const us = [], ratio = [], decision = [];
    for (let turn = 0; turn < (bench.quick ? 2 : 12); ++turn) {
      // The first tick of a call follows a pause, in which the processor's caches were others'.
      const [beside, own] = [full, s].map((side) => side.step(3, { tokens: [5, 5, 5] }).slice(1).map((report) => bench.us(report)));
      own.forEach((one, i) => {
        us.push(one);
        ratio.push(one / beside[i]);
      });
      decision.push(s.policies().us);
    }
    bench.row(what, "tick", "us", us);
    bench.row(what, "decision", "us", decision);
    bench.row(what, "to_full", "x", ratio);
    s.close();
    const added = Array.from({ length: full.length - rows }, (_, i) => ({ action: "delete", position: rows + i }));
    full.inject(added, { now: true });
  }
  full.close();
}
