// SPDX-License-Identifier: GPL-3.0-or-later
// AdaKV on the demo model, as people see it: unequal budgets of KV heads, heads named in every view, memory given back,
// lanes beside a session whose residency is by layer.
const s = lab.open({ model: "demo", capacity: 200, history_bytes: 1 << 22, policy: "adakv:sinks=2,window=8,observe=16,capacity=30" });
const empty = s.bytes();
s.prompt("Once upon a time there was a little girl named Lily. She liked to play in the park with her dog Max. One day they found a red ball.");
s.step(4);
const audit = s.policies().layers;
const heads = audit.filter((one) => one.layer === 0).length;
expect(heads > 1 && audit.every((one, i) => one.kvHead === i % heads && !one.broken && one.rows === one.requested));
for (let layer = 0; layer * heads < audit.length; ++layer) {
  const budgets = audit.slice(layer * heads, (layer + 1) * heads).map((one) => one.bands.budget);
  expect(budgets.reduce((a, b) => a + b) === 20 * heads, `layer ${layer} has ${budgets}`);
}
expect(new Set(audit.map((one) => one.rows)).size > 1, "all heads keep alike");
expect(s.rows(1, 0, 3, { kvHead: 1 }).length === 3 && s.pos2ledger(1, { kvHead: 1 }).length === audit[heads + 1].rows);
expectError(() => s.rows(1), "bad_argument");
expectError(() => s.saveCache("never.safetensors", { form: "hf_dynamic" }), "unsupported");
expect(s.saveCache("heads.safetensors").form === "native");

for (const name of ["map", "audit", "storage", "smartkv"]) view.screenshot(name, `heads-${name}.png`, { width: 900, height: 360 });
expect(2 * s.bytes().allocated < empty.allocated, "the pools did not shrink");
s.step(3);

const lanes = lab.lanes(lab.open({ model: "demo", capacity: 200 }), [{ policy: "adakv:capacity=30,window=8" }, { residency: "kv_head" }]);
lanes.prompt("Lily and Max went home. They were happy.");
lanes.step(3);
const report = lanes.report();
expect(report[2].kl === 0 && report[2].top1 === 1 && report[2].overlap === 1 && report[2].massKept === 1, JSON.stringify(report[2]));
expect(report[1].overlap < 1 && report[1].massKept < 1 && report[1].layers.overlap.length === heads * report[0].layers.overlap.length, JSON.stringify(report[1]));
log(`${heads} KV heads in each layer keep ${audit.map((one) => one.rows).join(", ")} rows`);
