// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of eviction policies on plain text. A model reads `read` tokens, then takes the next `given` tokens of the text
// one by one, beside a session that keeps all rows. Excerpts are spread over the text; intervals are bootstraps over them.
//   kvlab run policy_loss.js --out DIR -- MODEL TEXT [RATIOS [EXCERPTS [READ [GIVEN [POLICIES]]]]]   writes policy_loss.json
// RATIOS stand between commas, POLICIES between blanks; "all" is the list below, without the gates of smartkv. "rows:K/V" is
// not a policy but a type of rows, such as rows:int8/int8, which is compared with f32 rows, in f32 arithmetic.
const [model, file, ratios = "0.25", excerpts = "3", reads = "800", givens = "200", wanted = "smartkv snapkv h2o streaming_llm random"] = args;
const read = Number(reads), given = Number(givens);
const all = ["snapkv", "snapkv:preset=adakv", "pyramidkv", "adakv", "h2o", "tova", "expected_attention", "streaming_llm", "sliding_window",
  "knorm", "knorm:preset=sinks", "knorm:preset=bands", "keydiff", "keydiff:preset=sinks", "keydiff:preset=bands", "random"];
const policies = wanted === "all" ? all : wanted.split(" ");
const exact = wanted.includes("rows:") ? { numerics: "portable-fma", kv: { k: "f32", v: "f32" } } : {};
const s = lab.open(Object.assign({ numerics: model === "demo" ? "portable-fma" : "portable-q8" }, exact, { model: model, threads: 1, capacity: read + given + 8, history_bytes: 0, check: { level: "off" } }));
const ids = s.tokenise(lab.readText(file));
const cells = {};  // [ratio][policy] -> a report for each excerpt
const changeOf = (policy, ratio) => {
  const [k, v] = policy.replace("rows:", "").split("/");
  return v ? { kv: { k: k, v: v } } : { policy: policy + (policy.includes(":") ? "," : ":") + "ratio=" + ratio };
};
for (let n = 0; n < excerpts; ++n) {
  const from = Math.floor((ids.length - read - given) * (n + 0.5) / excerpts);
  for (const ratio of ratios.split(",")) {
    const lanes = lab.lanes(s, policies.map((policy) => changeOf(policy, ratio)));
    lanes.promptIds(ids.slice(from, from + read));
    lanes.step(given, { tokens: ids.slice(from + read, from + read + given) });
    lanes.report().slice(1).forEach((lane, i) => {
      const row = (cells[ratio] = cells[ratio] ?? {}), list = (row[policies[i]] = row[policies[i]] ?? []);
      list.push({ kl: lane.kl, dnll: lane.dnll, top1: lane.top1 });
    });
    lanes.close();
  }
  log(`${n + 1} of ${excerpts} excerpts`);
  lab.writeText("policy_loss.json", JSON.stringify({ model, file, read, given, excerpts: n + 1, cells }, null, 1) + "\n");
}
let seed = 1;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
/** Mean and 95 % of the means of samples with replacement. */
function interval(list) {
  const means = Array.from({ length: 2000 }, () => mean(list.map(() => list[Math.floor(random() * list.length)]))).sort((a, b) => a - b);
  return [mean(list), means[50], means[1949]];
}
for (const [ratio, row] of Object.entries(cells)) {
  log(`${(100 * ratio).toFixed(0)} % of ${read} rows`, "| policy | KL (95 %) | NLL added (95 %) | same first choice |", "| --- | --- | --- | --- |");
  for (const policy of policies) {
    const of = (key, digits) => interval(row[policy].map((one) => one[key])).map((x) => x.toFixed(digits));
    const [kl, dnll] = [of("kl", 3), of("dnll", 3)], top1 = 100 * mean(row[policy].map((one) => one.top1));
    log(`| ${policy} | ${kl[0]} (${kl[1]} .. ${kl[2]}) | ${dnll[0]} (${dnll[1]} .. ${dnll[2]}) | ${top1.toFixed(0)} % |`);
  }
}
