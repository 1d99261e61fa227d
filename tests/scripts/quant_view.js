// SPDX-License-Identifier: GPL-3.0-or-later
// The quantisation view on a real session: it shows the figures of s.quantisation(), its choices come from scripts, and
// for a session that cannot be measured its picture says why.
const s = lab.open({ model: "demo", kv: { k: "int8", v: "fp8-e4m3" }, layers: [{ match: 0, kv: { k: "f16", v: "f16" } }] });
s.prompt("anna puts the silver key in the cellar . tom carries the old lantern to the attic . mia hides the red pen in the " +
         "box under the stairs . where is the silver key ?");
s.step(4);
view.show("quant");
view.set("quant", { follow: true, figure: "logit", sort: "-k_worst" });
view.focus({ layer: 1, row: 5 });
expectError(() => view.set("quant", { figure: "size" }), "bad_argument");
for (const theme of ["dark", "light"]) {
  view.theme(theme);
  const picture = view.screenshot("quant", `quant-${theme}.png`, { width: 1600, height: 1000 });
  expect(picture.width === 1600, "quantisation has no picture");
}
const layers = s.quantisation();
expect(layers.every((layer) => layer.tick === s.tick), "the tick of the measurement is not told");
expect(layers[0].k.type === "f16" && layers[1].v.type === "fp8-e4m3", "the types are not told");
expect(layers[0].k.worst < layers[1].k.worst, "int8 does not lose more than f16");
s.step(1);
view.screenshot("quant", "quant-followed.png", { width: 1100, height: 300, dpr: 2 });
view.screenshot("window", "window.png", { width: 1600, height: 1000 });

const heads = lab.open({ model: "demo", residency: "kv_head" });
heads.prompt("anna puts the silver key in the cellar .");
expectError(() => heads.quantisation(), "unsupported");
view.screenshot("quant", "quant-refused.png", { width: 900, height: 300 });
