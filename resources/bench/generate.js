// SPDX-License-Identifier: Apache-2.0
// prefill and decode speed, and the bytes of weights and rows that decoding reads a second (--model)
const whole = [["demo", 512, 64], ["synthetic:smollm-135m", 512, 16], ["synthetic:tinyllama-1.1b", 128, 8]];
const cases = bench.model ? [[bench.model, 512, 16]] : bench.quick ? [["demo", 64, 4]] : whole;
for (const [model, prompt, ticks] of cases) {
  log(`generate: ${model}`);
  const s = bench.open({ model, probes: false, capacity: 2048 });
  const tokens = bench.tokens(prompt, bench.vocabulary(s)), prefill = [], decode = [];
  for (let run = 0; run < 3; ++run) {
    s.reset();
    prefill.push(1e6 * prompt / bench.us(s.promptIds(tokens)));
    for (const report of s.step(ticks)) decode.push(1e6 / bench.us(report));
  }
  s.settings({ op_events: true });
  const bytes = s.step()[0].events.filter((event) => event.depth > 2).reduce((sum, event) => sum + event.bytes, 0);
  const what = `${model}, ${s.storage(0).k}, depth ${prompt}`;
  bench.row(what, "prefill", "tokens/s", prefill);
  bench.row(what, "decode", "tokens/s", decode);
  bench.row(what, "decode_bytes", "GB/s", decode.map((rate) => rate * bytes / 1e9));
  s.close();
}
