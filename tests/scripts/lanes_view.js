// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes opened as the window does it, on a real session: the figures of the view are those of the session's lanes,
// commands that are not possible meanwhile say so, and one lane goes on alone.
const s = lab.open({ model: "demo" });
s.prompt("anna puts the silver key in the cellar . tom carries the old lantern to the attic . mia hides the red pen in the " +
         "box under the stairs . where is the silver key ?");
expectError(() => view.command("lanes_close", {}), "blocked");
view.command("lanes_open", { changes: [{ policy: "h2o:capacity=24,sinks=4,window=8" }, { policy: "streaming_llm:capacity=24,sinks=4" }] });
s.step(4);
expectError(() => view.command("undo"), "blocked");
expectError(() => view.command("lanes_open", { changes: [{}] }), "blocked");
expectError(() => view.command("lanes_close", { lane: 7 }), "bad_argument");
view.set("lanes", { layers: "all" });
view.focus({ layer: 1, row: 5 });
for (const theme of ["dark", "light"]) {
  view.theme(theme);
  const picture = view.screenshot("lanes", `lanes-${theme}.png`, { width: 1100, height: 420, dpr: 2 });
  expect(picture.width === 2200, "lanes have no picture");
}
view.command("lanes_close", { lane: 1 });
expect(s.policies().layers.every((layer) => layer.policy === "h2o" && layer.rows === 24), "the lane that was chosen did not go on");
s.step(2);
expect(s.length > 24, "the session does not go on");
