// SPDX-License-Identifier: Apache-2.0
// a tick with all probes and checks on against off
// Four sessions take ticks in the order off, on, on, off, behind a fifth one that the lanes are compared with.
for (const [model, depth] of bench.quick ? [["demo", 64]] : [["demo", 512], ["synthetic:smollm-135m", 1024]]) {
  log(`tick: ${model}`);
  const s = bench.open({ model, probes: false, capacity: 4096 });
  s.promptIds(bench.tokens(depth, bench.vocabulary(s)));
  const on = { probes: true, check: { level: "cheap" } }, runs = bench.quick ? 5 : 101;
  const lanes = lab.lanes(s, [{}, on, on, {}], { together: false });
  const us = [[], []], ratio = [];
  for (const tick of lanes.step(runs, { tokens: Array(runs).fill(5) })) {
    const [, first, second, third, fourth] = tick.lanes.map((lane) => lane.us);
    us[0].push(first, fourth);
    us[1].push(second, third);
    ratio.push((second + third) / (first + fourth));
  }
  const what = `${model}, depth ${depth}`;
  bench.row(what, "probes_off", "us", us[0]);
  bench.row(what, "probes_on", "us", us[1]);
  bench.row(what, "probes_ratio", "x", ratio);
  bench.row(what, "probes_sum_ratio", "x", bench.mean(us[1]) / bench.mean(us[0]));
  lanes.close();
  s.close();
}
