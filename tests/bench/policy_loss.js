// SPDX-License-Identifier: GPL-3.0-or-later
// What eviction policies cost on plain text: a model reads `read` tokens, then takes the next `given` tokens of the text
// one by one, beside a session that keeps all rows. Excerpts are spread over the text.
//   kvlab run policy_loss.js -- MODEL TEXT [RATIO [EXCERPTS]]
const [model, file, ratio = "0.25", excerpts = "3"] = args;
const read = 800, given = 200;
const policies = ["smartkv", "snapkv", "h2o", "streaming_llm", "random"];
const s = lab.open({ model: model, capacity: read + given + 8, history_bytes: 0 });
const ids = s.tokenise(lab.readText(file));
const sums = policies.map(() => ({ kl: 0, dnll: 0, top1: 0 }));
for (let n = 0; n < excerpts; ++n) {
  const from = Math.floor((ids.length - read - given) * (n + 0.5) / excerpts);
  const lanes = lab.lanes(s, policies.map((name) => ({ policy: { name: name, ratio: Number(ratio) } })));
  lanes.promptIds(ids.slice(from, from + read));
  lanes.step(given, { tokens: ids.slice(from + read, from + read + given) });
  lanes.report().slice(1).forEach((lane, i) => Object.keys(sums[i]).forEach((key) => (sums[i][key] += lane[key] / excerpts)));
  lanes.close();
}
policies.forEach((name, i) => log(`${name.padEnd(14)} KL ${sums[i].kl.toFixed(3)}  dNLL ${sums[i].dnll.toFixed(3)}  same first choice ${(100 * sums[i].top1).toFixed(1)} %`));
