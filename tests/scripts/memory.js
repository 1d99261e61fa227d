// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of a long session and of batches. Fails if a session's history or a batch takes more than it may.
//   kvlab run tests/scripts/memory.js                                  2 000 ticks of the demo model
//   kvlab run tests/scripts/memory.js -- smollm2-135m 5000 1073741824  four minutes on one core
const [model = "demo", ticks = "2000", history = String(8 << 20)] = args;
const part = ticks / 5;
// Beside its rows a tick may leave as many bytes as they have, which older states need while history_bytes has room, and
// these: a snapshot for the views, a report.
const allowed = 24 << 10;
const mib = (bytes) => (bytes / (1 << 20)).toFixed(1) + " MiB";
const ids = (first, count) => Array.from({ length: count }, (_, i) => first + i);

const s = lab.open({ model: model, capacity: +ticks + 64, history_bytes: +history, threads: 1 });
s.promptIds(ids(3, 10));
const marks = [];  // bytes
for (let i = 0; i <= 5; ++i) {
  if (i > 0) s.run({ maxTicks: part, reports: 1 });
  const { program, own, shared, live } = s.bytes(), kept = s.timeline().kept;
  marks.push({ live: live, beside: program - own - shared });
  log(`${s.tick} ticks: program ${mib(program)}, live rows ${mib(live)}, beside rows ${mib(marks[i].beside - marks[0].beside)} more than at first, ${kept[kept.length - 1] - kept[0]} states kept`);
}
expect(s.tick === 1 + 5 * part, "the session ended early");
s.close();
const grown = (key, from) => marks[5][key] - marks[from][key];
expect(grown("beside", 4) < grown("live", 4) + part * allowed, "memory beside the rows grows faster than the rows");
expect(grown("beside", 0) < 1.1 * history + ticks * allowed, "history takes more than history_bytes");

for (const policy of ["full", "h2o:ratio=0.25", "adakv:ratio=0.25"]) {
  const one = lab.open({ model: model, capacity: 1024, threads: 1, kv: { k: "f16", v: "f16" }, policy: policy });
  one.promptIds(ids(3, 277));
  const batch = lab.batch(one, 3), before = batch.bytes().total;
  batch.prompts([ids(20, 2), ids(30, 2), null]);
  const { total } = batch.bytes(), live = [0, 1, 2].reduce((sum, i) => sum + batch.sequence(i).bytes().live, 0);
  log(`batch of three, 277 tokens and two of them prompted, ${policy}: ${mib(before)}, then ${mib(total)} for ${mib(live)} of live rows`);
  expect(total < 1.5 * live, "a batch takes pages that it has no rows for");
  batch.close();
  one.close();
}
