// SPDX-License-Identifier: GPL-3.0-or-later
// The five minutes of README.md: each numbered step, by commands and keys of the window, with the figures that it states.
const s = lab.open({ model: "demo" });
s.prompt(lab.readText("resource:demo/story.txt").trim());
view.set("map", { quantity: "received" });
const f10 = () => {
  const before = s.length;
  view.keys("window", "F10");
  expect(s.length === before + 1, "F10 is a tick, and a tick is a token");
};
function ask() {
  view.command("prompt", { text: "where is the silver key ?" });
  let said = "";
  for (let i = 0; i < 8 && !said.endsWith("."); ++i) { f10(); said = s.text().split("?").pop(); }
  return said.trim();
}

// 1
expect(ask() === "it is in the cellar .", "the answer of step 1");
// 2
const place = s.tokens().indexOf(s.tokenise("cellar")[0]);
view.show("compose");
view.focus({ row: place });
view.type("compose", "attic");
expect(s.plan([{ action: "replace", positions: [place], new_token_ids: s.tokenise("attic") }]).newRows === 1, "the plan has one new row");
view.set("compose", { draft: [{ action: "replace", positions: [place], new_token_ids: s.tokenise("attic") }] });
expect(view.dump("compose").includes("attic"), "Compose shows the plan");
view.command("inject", { actions: [{ action: "replace", positions: [place], new_token_ids: s.tokenise("attic") }], now: true });
expect(s.tokens()[place] === s.tokenise("attic")[0], "the word is replaced");
expect(ask() === "it is in the attic .", "the answer of step 2");
// 3
view.set("map", { quantity: "staleness" });
expect(view.dump("map").includes("edited"), "rows are stale");
view.keys("window", "Ctrl+D");
view.set("map", { quantity: "drift_v" });
expect(Math.max(...s.drift().v) > 0, "stale rows have drifted");
view.keys("window", "Ctrl+B");
expect(Math.max(...s.drift().v) === 0, "a rebuild leaves no drift");
const rebuilt = s.stateHash();
view.show("map");  // the keyboard leaves the words of Compose, which have an undo of their own
view.keys("window", "Ctrl+Z");
expect(s.stateHash() !== rebuilt && Math.max(...s.drift().v) > 0, "Ctrl+Z takes the rebuild back, rows included");
// 4
for (const id of ["storage", "rings", "quant"]) view.show(id);
s.settings({ layout: "ring_fused" });
expect(s.storage(0).layout === "ring_fused", "the layout has changed");
expect(view.dump("rings").includes("ring_fused"), "Rings draws the circle");
s.settings({ kv: { k: "int8" } });
expect(s.quantisation().some((layer) => layer.k.worst > 0), "int8 rows have errors, and they are measured");
// 5
s.settings({ policy: "streaming_llm:ratio=0.5" });
view.show("audit");
f10();
expect(view.dump("audit").includes("streaming_llm"), "Audit names the policy");
log("five minutes: every step holds");
