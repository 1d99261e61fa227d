// SPDX-License-Identifier: GPL-3.0-or-later
// No lamp says "all clear" over damage: Mirror, Map, strip and status tell a damaged row of any layer from the check that
// finds it until the repair; before that check they do not say that all is in step.
const s = lab.open({ model: "demo", faults: true });
const ids = s.tokenise(lab.readText("resource:demo/story.txt"));
s.promptIds(Array.from({ length: 420 }, (_, i) => ids[i % ids.length]));
s.step(2);
view.set("mirror", { wrong: true });
const first = (id) => view.dump(id).split("\n")[0];
const lines = (id, word) => view.dump(id).split("\n").filter((line) => line.includes(word));
const says = (id, word) => expect(first(id).includes(word), `${id}: ${first(id)}`);
const silent = () => {
  expect(!first("mirror").includes("✓"), `mirror: ${first("mirror")}`);
  expect(!first("window").includes("✔"), `status: ${first("window")}`);
};

says("mirror", "✓ in step, checked after tick 3");
says("window", "✔");
view.focus({ layer: 1 });
s.fault("tag_bit", { layer: 1, index: 400, bit: 2 });
says("mirror", "○ not checked since tick 3: then came fault (tick 3)");
silent();

const found = (layer) => {
  view.focus({ layer });
  silent();
  says("mirror", layer === 1 ? "✕ one line is wrong" : "✕ 2 findings in layer 1");
  expect(lines("map", "wrong: layer 1, position 400").length > 0, "the map marks the row");
  expect(lines("strip", " WRONG").length === 1 && lines("strip", " WRONG")[0].startsWith("400 "), "the strip marks the token");
  if (layer === 1)
    for (const part of ["broken between tick 1 (computed) and tick 3 (found)", "fault (tick 3) wrote the row in between"]) says("mirror", part);
};
s.invariants();
[1, 0].forEach(found);
// Two findings name the row: the lamp's command goes to its layer and row, whatever has the focus.
view.focus({ layer: 0, row: 3 });
view.command("go_to_finding");
says("mirror", "✕ one line is wrong");
says("history", "ledger 400");
const broken = s.invariants().filter((one) => !one.ok);
// Ticks read the tags of new rows, and tags and checksums of a slice; no slice has had the row yet.
const since = { computed: 1, found: 3, text: "between tick 1 (computed) and tick 3 (found)" };
for (const one of broken) expect(JSON.stringify(one.since) === JSON.stringify(since), JSON.stringify(one));
expect(broken.length === 2);
const told = s.history(400).map((one) => one.event);
expect(told.includes("damage_found") && !told.includes("verified"), `history: ${told}`);
s.step();
[0, 1].forEach(found);
view.screenshot("window", "alignment.png", { width: 1600, height: 1000 });
s.rebuild();
says("mirror", "✓ in step");
expect(lines("strip", " WRONG").length === 0 && lines("map", "wrong:").length === 0);
log("every lamp told the damage");
