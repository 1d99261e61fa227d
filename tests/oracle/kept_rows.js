// SPDX-License-Identifier: Apache-2.0
// kvlab run kept_rows.js -- CASES: the rows of every layer and KV head after each prompt, as a line of json each.
for (const one of JSON.parse(lab.readText(args[0]))) {
  const s = lab.open(Object.assign({ dtype: "f32", capacity: one.ids.length + 8, history_bytes: 0 }, one.manifest));
  s.promptIds(one.ids);
  const heads = s.policies().layers.map((layer) => [layer.layer, layer.kvHead]);
  log("KEPT " + JSON.stringify(heads.map(([layer, kvHead]) =>
    [layer, kvHead, s.rows(layer, kvHead == null ? {} : { kvHead }).map((row) => row.position)])));
  s.close();
}
