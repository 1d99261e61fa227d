// SPDX-License-Identifier: Apache-2.0
// wLOD: incremental against full recompute by place and size of an edit; how a full pass grows, flat and pyramid (--model)
const model = bench.model || "demo", block = 32;
const lengths = bench.quick ? [256] : [2048, 8192, 32768, 131072];  // beyond a model's phases: time, not meaning

/** Blocks behind a place of the time line, neighbours, collapsed and expanded again: both count. */
function edits(s, what, length, place, blocks, fullMs, runs) {
  const most = length / block, first = Math.min(Math.floor(place * most), most - blocks - 1), ms = [];
  for (let run = 0; run < runs; ++run)
    for (const action of ["collapse", "expand"]) {
      s.inject(Array.from({ length: blocks }, (_, i) => ({ action, node: (first + i) * block * 4 + 1 })), { now: true });
      ms.push(s.tree({ entries: false }).change.us / 1000);
    }
  const edit = `${what}, ${blocks} ${blocks === 1 ? "block" : "blocks"} at ${Math.floor(place * 100)} %`;
  bench.row(edit, "incremental", "ms", ms);
  bench.row(edit, "full_over_incremental", "x", ms.map((one) => fullMs / one));
}

for (const attention of ["pyramid", "flat"])
  for (const length of lengths) {
    if (attention === "flat" && length > 32768) continue;  // hours
    const what = `${model}, ${attention}, ${length} entries`;
    log(`wlod: ${what}`);
    // The working context begins as tokens alone, so rows are moments.
    const s = bench.open({ model, probes: false, wlod: { attention, budget: length + block, moments: length + block, lens: "off",
      protect: 0, cooldown: 0, start_tokens: length, recompute: "incremental" } });
    s.promptIds(bench.tokens(length, bench.vocabulary(s)));
    const heavy = attention === "flat" && length > 8192;  // minutes for each pass
    const runs = bench.quick || heavy ? 1 : length > 8192 ? 2 : 3;
    const full = Array.from({ length: runs }, () => s.rebuild().ms);
    bench.row(what, "full", "ms", full);
    bench.row(what, "full_per_entry", "us", full.map((ms) => ms * 1000 / length));
    if (bench.quick || length === 8192 || length === 32768)
      for (const place of [0.02, 0.25, 0.5, 0.75, 0.95])
        for (const blocks of [1, 16])
          if (blocks < length / block / 2 && (!heavy || (place >= 0.5 && blocks === 1)))
            edits(s, what, length, place, blocks, full.slice().sort((a, b) => a - b)[runs >> 1], runs);
    s.close();
  }
