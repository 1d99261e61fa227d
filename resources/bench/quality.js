// SPDX-License-Identifier: Apache-2.0
// KL, loss and agreement of each K and V type, int8 weights and other arithmetic against f32 rows over a long text (--model)
const pairs = [["f16", "f16"], ["bf16", "bf16"], ["f16", "int8"], ["int8", "f16"], ["int8", "int8"], ["f16", "fp8-e4m3"],
  ["fp8-e4m3", "f16"], ["fp8-e4m3", "fp8-e4m3"]];
const plain = { model: bench.model || "demo", probes: false, kv: { k: "f32", v: "f32" } };
const open = (more) => bench.open(Object.assign({}, plain, more));
const piece = 64;  // ticks of one call

/** False where this machine, or the back end, lacks it. */
function opens(more) {
  try {
    open(more).close();
    return true;
  } catch (error) {
    return false;
  }
}

/** A text in the model's own words. */
function sampled(length) {
  const s = open({ sampling: { temperature: 0.8, seed: 7 } });
  s.prompt("Once upon a time");
  while (s.length < length) s.step(Math.min(piece, length - s.length));
  const text = s.tokens();
  s.close();
  return text;
}

/** Figures of what a session said of each token: KL, whether the likeliest is the same, and what the loss became. */
function tell(what, kl, top1, dnll) {
  bench.row(what, "kl_mean", "nats", bench.mean(kl));
  bench.row(what, "kl_p99", "nats", kl.slice().sort((a, b) => a - b)[Math.floor(kl.length * 0.99)]);
  bench.row(what, "kl_last_quarter", "nats", bench.mean(kl.slice(Math.floor(kl.length * 3 / 4))));
  bench.row(what, "delta_nll", "nats", bench.mean(dnll));
  bench.row(what, "top1_agreement", "share", bench.mean(top1));
}

/** A text read by lanes in step, the first of which has f32 rows. */
function inLanes(text, key_phase) {
  const s = open({ key_phase }), lanes = lab.lanes(s, pairs.map(([k, v]) => ({ kv: { k, v } })));
  const ticks = [lanes.promptIds(text.slice(0, 1))];
  for (let i = 1; i < text.length; i += piece) {
    const tokens = text.slice(i, i + piece);
    ticks.push(...lanes.step(tokens.length, { tokens }));
  }
  pairs.forEach(([k, v], i) => {
    const seen = ticks.map((tick) => tick.lanes[i + 1]), before = seen.slice(0, -1);
    tell(`${key_phase}, K ${k}, V ${v}`, before.map((one) => one.kl), before.map((one) => one.top1), seen.slice(1).map((one) => one.dnll));
  });
  lanes.close();
  s.close();
}

/** Log probabilities before each token of a text but the first. */
function alone(text, more) {
  const s = open(more), out = [];
  s.promptIds(text.slice(0, 1));
  for (const token of text.slice(1)) {
    out.push(bench.logProbabilities(s.logits()));
    s.step({ tokens: [token] });
  }
  s.close();
  return out;
}

const text = sampled(bench.quick ? 24 : 1800);
for (const key_phase of ["on_read", "at_write"]) {
  log(`quality: rows, ${key_phase}`);
  inLanes(text, key_phase);
}
const exact = alone(text, {});
const ways = [["weights", "int8"], ["numerics", "portable-bf16"], ["numerics", "portable-q8"]];
for (const [key, word] of ways.filter(([key, word]) => opens({ [key]: word }))) {
  log(`quality: ${key} ${word}`);
  const live = alone(text, { [key]: word }), each = (f) => exact.map((p, i) => f(p, live[i], text[i + 1]));
  tell(`${key} ${word}`, each(bench.kl), each((p, q) => Number(bench.largest(p) === bench.largest(q))), each((p, q, token) => p[token] - q[token]));
}
