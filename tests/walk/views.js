// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of every view and of every task layout, at three sizes, dark and light, for people to look at:
//   kvlab run tests/walk/views.js --out FOLDER
const sizes = [[1280, 720, 1], [1600, 1000, 1], [1920, 1080, 2]];
const story = lab.readText("resource:demo/story.txt").trim();

function shoot(name, arrange) {
  for (const theme of ["dark", "light"]) {
    view.command("theme", { name: theme });
    for (const [width, height, dpr] of sizes) {
      const file = `${name}_${theme}_${width * dpr}.png`;
      view.screenshot("window", file, { width, height, dpr });  // takes the size
      arrange();
      view.screenshot("window", file, { width, height, dpr });
    }
  }
}
function shootViews(...ids) {
  for (const id of ids) shoot(id, () => (view.command("reset_layout"), view.show(id)));
}
function shootLayout(name) { shoot(`layout_${name}`, () => view.command(`layout_${name}`)); }

const s = lab.open({ model: "demo", faults: true });
s.prompt(story);
s.prompt("where is the silver key ?");
s.step({ n: 4 });
s.inject({ action: "replace", positions: [8], new_token_ids: s.tokenise("attic") }, { now: true });
s.break("kl > 0.05");
s.break("changed(length)", { log: true });
s.break("stage(plan)", { enabled: false });
s.step({ n: 2 });
s.drift();
view.focus({ row: 12, layer: 2 });
s.inject({ action: "delete", position: 20 });
shootViews("map", "strip", "mirror", "ledger", "history", "events", "compose", "model", "numbers", "console", "log",
           "jobs", "row", "storage", "timeline");
view.command("attention_measure");
shootViews("attention");
shootLayout("edit");
shootLayout("time");
s.clearPending();
s.fault("value_bit", { layer: 2, index: 7 });
s.invariants();
shootViews("invariants");
s.close();

const ring = lab.open({ model: "demo", layout: "ring_fused", ring: { window: 64 }, kv: { k: "f16", v: "int8" } });
ring.prompt(story);
ring.step({ n: 12 });
view.focus({ row: 60, layer: 2 });
shootViews("rings");
view.command("quantisation_measure");
shootViews("quant");
shootLayout("rings");
ring.close();

const policy = lab.open({ model: "demo", policy: "h2o:ratio=0.5,window=8" });
policy.prompt(story);
policy.step({ n: 12 });
view.focus({ row: 12, layer: 2 });
shootViews("smartkv", "audit");
shootLayout("policies");
policy.close();

const wlod = lab.open({ model: "demo", wlod: { budget: 256, moments: 4096 } });
for (let i = 0; i < 4; ++i) wlod.prompt(story);
wlod.step({ n: 4 });
shootViews("tree");
shootLayout("wlod");
wlod.close();

const first = lab.open({ model: "demo" });
first.prompt(story);
const lanes = lab.lanes(first, [{ policy: "h2o:ratio=0.5,window=8" }, { kv: { k: "int8", v: "int8" } }]);
lanes.step({ n: 6 });
lanes.show();
shootViews("lanes", "sweep");
shootLayout("sweep");
