// SPDX-License-Identifier: Apache-2.0
// a tick of each eviction policy at its budget against full with as many rows; pruning at the end of the prompt; bytes (--model: with 4 096 rows, and with intervals)
const every = ["random", "sliding_window", "streaming_llm", "brightness", "h2o", "tova", "knorm", "keydiff", "snapkv", "pyramidkv",
  "adakv", "expected_attention", "smartkv"];
const seen = ["snapkv", "expected_attention"];
const apart = ["streaming_llm", "knorm", "h2o", "tova", "snapkv", "keydiff", "expected_attention"];
// A decision in every tick, and in one of so many.
const spaced = apart.concat(...[16, 64].map((interval) => apart.slice(1).map((name) => ({ name, interval }))));
const cases = bench.model ? [[bench.model, 4096, 4352, spaced]] : bench.quick ? [["demo", 32, 64, every]]
  : [["demo", 256, 1024, every], ["synthetic:smollm-135m", 256, 1024, seen],
    ["synthetic:tinyllama-1.1b", 704, 1024, ["h2o", "tova", "smartkv"]]];

for (const [model, rows, prompt, policies] of cases) {
  const open = (policy) => bench.open({ model, capacity: prompt + 512, policy });
  const full = open({ name: "full" }), vocabulary = bench.vocabulary(full);
  full.promptIds(bench.tokens(rows, vocabulary));
  const cut = () => {  // as many rows as the policy keeps
    const added = Array.from({ length: full.length - rows }, (_, i) => ({ action: "delete", position: rows + i }));
    if (added.length > 0) full.inject(added, { now: true });
  };
  for (const one of policies) {
    const { name, interval = 1 } = typeof one === "string" ? { name: one } : one;
    const policy = interval > 1 ? `${name} every ${interval} ticks` : name;
    log(`policy: ${policy} on ${model}`);
    const more = interval > 1 ? { interval } : name === "smartkv" ? { gates: bench.gates(full) } : {};
    const s = open(Object.assign({ name, capacity: rows }, more));
    const what = `${policy}, ${model}, ${prompt} -> ${rows} rows`;
    s.prefill(bench.tokens(prompt, vocabulary), { last: false });
    const before = s.bytes().allocated;
    bench.row(what, "prune", "ms", bench.us(s.endPrefill()) / 1000);
    bench.row(what, "bytes_live", "bytes", s.bytes().live);
    bench.row(what, "bytes_share", "x", s.bytes().allocated / before);
    const us = [], ratio = [], decision = [];
    const ticks = interval > 1 ? interval : 2;
    for (let turn = 0; turn < (bench.quick ? 2 : interval > 1 ? 4 : 12); ++turn) {
      // The first tick of a call follows a pause, in which the processor's caches were others'.
      const tokens = new Array(ticks + 1).fill(5);
      const [beside, own] = [full, s].map((side) => side.step(ticks + 1, { tokens }).slice(1).map((report) => bench.us(report)));
      if (interval > 1) {  // a sample is the mean over an interval
        us.push(bench.mean(own));
        ratio.push(bench.mean(own) / bench.mean(beside));
      } else {
        own.forEach((one, i) => {
          us.push(one);
          ratio.push(one / beside[i]);
        });
      }
      decision.push(s.policies().us);
      if (interval > 1) cut();
    }
    bench.row(what, "tick", "us", us);
    bench.row(what, "decision", "us", decision);
    bench.row(what, "to_full", "x", ratio);
    s.close();
    cut();
  }
  full.close();
}
