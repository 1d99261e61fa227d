// SPDX-License-Identifier: GPL-3.0-or-later
// Losses of lanes, token by token: those of sessions alone, and the view that shows their differences.
const base = { model: "demo" };
const change = { policy: "streaming_llm:capacity=24,sinks=4" };
const story = "anna puts the silver key in the cellar . tom carries the old lantern to the attic . mia hides the red pen in the box .";
const text = " where is the silver key ? the silver key is in the cellar .";

const s = lab.open(base);
s.prompt(story);
const prompt = s.length;
const lanes = lab.lanes(s, [change, {}]);
lanes.show();
view.show("lanes");
view.set("lanes", { colour: "loss" });
expect(view.dump("lanes").includes(`lane 1: 0 of ${prompt} tokens measured`), "a prompt was measured");
lanes.score(text, { each: true });
const ticks = lanes.step(3);
const dump = view.dump("lanes");
for (const theme of ["dark", "light"]) {
  view.theme(theme);
  expect(view.screenshot("lanes", `losses-${theme}.png`, { width: 1100, height: 420, dpr: 2 }).width === 2200);
}

const alone = [base, Object.assign({}, base, change), base].map((manifest) => lab.open(manifest));
const losses = lanes.losses();
expect(losses.lanes.length === 3 && losses.tokens.length === losses.texts.length);
alone.forEach((one, lane) => {
  one.prompt(story);
  const own = losses.lanes[lane].losses;
  expect(own.length === losses.tokens.length && own.slice(0, prompt).every((loss) => loss === null), "a prompt has losses");
  const scored = one.score(text, { each: true }).losses.concat(one.scoreIds(ticks.map((t) => t.token), { each: true }).losses);
  expectNear(own.slice(prompt), scored);
});
const differences = losses.lanes.map((lane) => lane.losses.slice(prompt).map((loss, i) => loss - losses.lanes[0].losses[prompt + i]));
expect(differences[2].every((d) => d === 0) && differences[1].some((d) => d > 0.1), "the lanes do not differ as they should");
// The figure of the ticks is the mean of the last differences.
const mean = differences[1].slice(-3).reduce((sum, d) => sum + d) / 3;
expect(Math.abs(lanes.report()[1].dnll - mean) < 1e-5, "dnll is not the mean of the ticks' differences");

expect(dump.includes(`lane 1: ${differences[1].length} of ${losses.tokens.length} tokens measured; loss above lane 0: mean `), dump);
expect(dump.includes(`most ${Math.max(...differences[1]).toFixed(4)} at ${prompt + differences[1].indexOf(Math.max(...differences[1]))}`), dump);

// Lanes that the window opened: what the view tells people to do measures all of them.
const shown = lab.open(base);
shown.prompt(story);
view.command("lanes_open", { changes: [change] });
lab.current().score(text, { each: true });
expect(/lane 1: [1-9][0-9]* of/.test(view.dump("lanes")), view.dump("lanes"));
