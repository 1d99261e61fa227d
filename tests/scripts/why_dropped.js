// SPDX-License-Identifier: GPL-3.0-or-later
// Why did a layer drop this row? From the row in the map to score, rank and threshold, with real keys; and the same from
// the table. kvlab run why_dropped.js --out FOLDER [-- MODEL]
const model = args[0] || "demo";
const s = lab.open({ model, policy: "h2o:ratio=0.25,window=8" });
const text = "anna puts the silver key in the cellar . tom carries the old lantern to the attic . mia hides the red pen in the box . ";
s.prompt(model === "demo" ? text.repeat(2) : lab.readText("resource:demo/story.txt").trim());
s.step(6);

const layer = s.policies().layers.length - 1;
const dropped = s.decisions({ layer, tick: 1, where: 'event == "dropped"' });
expect(dropped.length > 10, "the prompt was not pruned");
const one = dropped[Math.floor(dropped.length / 2)];
expect(one.when === "prompt" && one.policy === "h2o" && one.rank > one.stayed && one.score <= one.threshold, "the choice is not h2o's");

// Three clicks at most: the row, its menu, the entry; the key of the entry does the same.
view.show("map");
view.focus({ layer, ledger: one.ledger });
view.keys("map", "Shift+Y");
const said = view.dump("smartkv");
expect(said.includes(one.detail), `Policy does not say “${one.detail}”: ${said}`);
expect(said.includes(`(ledger ${one.ledger})`), "Policy speaks of another row");
view.screenshot("smartkv", "why-dropped.png", { width: 1000, height: 620 });
view.screenshot("window", "why-dropped-window.png", { width: 1600, height: 1000 });

// Row history: the life of a row that stayed for a while, with its score over ticks.
const kept = s.decisions({ layer, where: 'event == "kept" && ground == "rank"' })[0];
expect(kept !== undefined, "no row competed and stayed");
view.focus({ layer, ledger: kept.ledger });
view.set("history", { rows: "choices" });
expect(view.dump("history").includes("kept by h2o"), "Row history does not tell the choices");
view.screenshot("history", "choices.png", { width: 700, height: 620 });
view.set("history", { rows: "token" });
view.focus({ layer, ledger: one.ledger });
expect(view.dump("history").includes(one.detail), "Row history does not tell where the row left");
