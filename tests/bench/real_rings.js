// SPDX-License-Identifier: GPL-3.0-or-later
// Rings on a model's own windows: the loss of a text with plain rows and with each kind of ring, token by token, and the
// bytes of the pools. Layers that see the whole text keep all their rows in both.
//   kvlab run real_rings.js --out DIR -- MODEL TEXT [TOKENS [LAYOUTS]]     writes real_rings.json; LAYOUTS between blanks
const [model, file, count = "1536", layouts = "indirection contiguous_splice ring_fused ring_pointer"] = args;
const rows = [];
let first = null;
for (const layout of layouts.split(" ")) {
  const s = lab.open({ model: model, threads: 1, numerics: "portable-q8", layout: layout, capacity: Number(count), history_bytes: 0, probes: false, check: { level: "off" } });
  const score = s.scoreIds(s.tokenise(lab.readText(file)).slice(0, Number(count))), bytes = s.bytes();
  const differ = first ? score.losses.filter((loss, i) => loss !== first.losses[i]).length : 0;
  first = first ?? score;
  rows.push({ layout, nll: score.nll, scored: score.scored, differ, bytes });
  log(`${layout.padEnd(18)} NLL ${score.nll} of ${score.scored} tokens, ${differ} losses differ, pools ${JSON.stringify(bytes)}`);
  s.close();
}
lab.writeText("real_rings.json", JSON.stringify({ model, file, rows }, null, 1) + "\n");
