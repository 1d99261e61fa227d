// SPDX-License-Identifier: GPL-3.0-or-later
// Measures the time to go to, to ask and to compare ticks of a session with 100 000 of them:
//   kvlab run tests/bench/far_ticks.js
const s = lab.open({ model: "demo", brightness: { compressor: "nearest", target: 96 } });
s.prompt("anna puts the silver key in the cellar .");
const took = (work) => {
  const start = Date.now();
  work();
  return Date.now() - start;
};
const ran = took(() => s.run({ maxTicks: 100000, reports: 1 }));
let random = 12345;
const gone = [], asked = [];
for (let i = 0; i < 24; ++i) {
  random = (random * 1103515245 + 12345) % 2147483648;
  const tick = 2 + random % 99000;
  asked.push(took(() => s.at(tick).text()));
  gone.push(took(() => s.goto(tick)));
}
const figures = (all) => `${all.slice().sort((a, b) => a - b)[all.length >> 1]} ms in the median, ${Math.max(...all)} ms at most`;
log(`${s.branches()[0].tick} ticks ran in ${ran / 1000} s`);
log(`goto: ${figures(gone)}`);
log(`at: ${figures(asked)}`);
log(`difference: ${took(() => s.difference(50000))} ms`);
expect(Math.max(...gone) <= 1000, "going to any tick takes at most 1 s");
