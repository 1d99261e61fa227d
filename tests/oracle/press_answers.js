// SPDX-License-Identifier: Apache-2.0
// kvlab run press_answers.js -- CASES: for each context, pruned by its policy, the rows of every layer and KV head, and the
// tokens that follow a question over a cache that grows from there, as kvpress lets it. A line of json each.
for (const one of JSON.parse(lab.readText(args[0]))) {
  const s = lab.open(Object.assign({ dtype: "f32", history_bytes: 0 }, one.manifest));
  s.promptIds(one.ids);
  const heads = s.policies().layers.map((layer) => [layer.layer, layer.kvHead]);
  const kept = heads.map(([layer, kvHead]) =>
    [layer, kvHead, s.rows(layer, kvHead == null ? {} : { kvHead }).map((row) => row.position)]);
  s.settings({ policy: "full" });
  s.step({ tokens: one.question });
  log("ANSWER " + JSON.stringify([kept, s.step(one.count).map((report) => report.token)]));
  s.close();
}
