// SPDX-License-Identifier: GPL-3.0-or-later
// Policies set as the window's menus do it, on a real session, and the views that show the outcome.
const s = lab.open({ model: "demo" });
s.prompt("anna puts the silver key in the cellar . tom carries the old lantern to the attic . mia hides the red pen in the " +
         "box under the stairs . where is the silver key ?");
view.command("policy_set", { policy: "h2o:capacity=24,sinks=4,window=8" });
expect(s.policies().layers.every((layer) => !layer.bounded), "a policy decided before its first tick");
s.step(4);
expect(s.policies().layers.every((layer) => layer.rows === 24 && layer.fired !== null && !layer.broken), "rows are not those requested");
view.command("policy_set", { policy: "tova:capacity=16", layer: 1 });
s.step(2);
expect(s.policies().layers[1].policy === "tova" && s.policies().layers[1].rows === 16, "layer 1 does not keep 16 rows");
expect(s.policies().layers[0].policy === "h2o", "layer 0 changed with layer 1");
expectError(() => view.command("policy_set", { policy: "lru" }), "bad_manifest");
expectError(() => view.command("policy_set", { policy: "h2o", layer: 99 }), "bad_argument");
view.set("audit", { change: "layer", sort: "-rows" });
view.focus({ layer: 1 });
for (const id of ["audit", "smartkv"]) {
  const picture = view.screenshot(id, id + ".png", { width: 1000, height: 520, dpr: 2 });
  expect(picture.width === 2000, id + " has no picture");
}
view.command("policy_set", { policy: "smartkv:capacity=24" });
s.step(2);
view.command("lifespans_measure");
view.command("lanes_open", { changes: [{ policy: "full" }] });  // waits for the measurement
expect(s.lifespans() !== null, "lifespans were not measured");
view.command("lanes_close");
view.command("policy_set", { policy: "full" });
expect(s.policies().layers.every((layer) => layer.policy === "full"), "full was not set");
