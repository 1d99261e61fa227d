// SPDX-License-Identifier: Apache-2.0
// wLOD: a long text stands as gists of 32 tokens, all but its end. A question is answered after the focus allocator has
// opened the block that it looks at; opening and closing a block leave the rows that a full pass would compute.
//   kvlab run example_wlod.js --out DIR [--update]       writes pictures; expectations are in expected/

view.freezeClock();
const story = [].concat(...JSON.parse(lab.readText("resource:prompts/recall-1024.json")).sets.map((set) => set.stories))[0];
// Truncation: the last tokens alone, in as many rows as the budget has entries. The window shows the session opened last.
const last = lab.open({ model: "demo", dtype: "f32", capacity: 352 });
const s = lab.open({ model: "demo", dtype: "f32", wlod: { budget: 352, moments: 4096, gist: "trained", lens: "attention", start_tokens: 64,
                     start_gists: 1024, protect: 64, cooldown: 0, every: 1000, recompute: "incremental" } });
const filler = s.tokenise(" the rain falls again . a bird sings at dawn . the wind blows all day .");
const ids = [1, ...s.tokenise(story.text)];
for (let i = 0; ids.length < 1024 + 64; ++i) ids.push(filler[i % filler.length]);
s.prefill(ids, { last: false });
const levels = () => s.tree().entries.reduce((n, entry) => (++n[entry.level], n), [0, 0, 0]);
const start = levels(), fed = s.tick;
expect(start[1] > 0 && s.tree().length <= 352, `the text stands as ${start} entries`);

/** The token at the place that the reply names; `look` runs just before it. */
function ask(question, look) {
  const reply = s.tokenise(" " + question.reply);
  s.prefill([...s.tokenise(" " + question.text), ...reply.slice(0, question.deciding)], { last: false });
  look();
  return s.step()[0].token === reply[question.deciding];
}
function askTruncated(question) {
  const reply = last.tokenise(" " + question.reply), behind = [...last.tokenise(" " + question.text), ...reply.slice(0, question.deciding)];
  last.prefill([...ids.slice(behind.length + 1 - 352), ...behind], { last: false });
  const right = last.step()[0].token === reply[question.deciding];
  last.goto(0);
  return right;
}
const asked = { gists: 0, focus: 0, truncation: 0, of: 0, shown: null };
for (const question of story.questions) {
  asked.of += 1;
  const gists = ask(question, () => {});
  s.goto(fed);
  const focus = ask(question, () => s.refocus(3));
  asked.gists += gists ? 1 : 0;
  asked.focus += focus ? 1 : 0;
  asked.truncation += askTruncated(question) ? 1 : 0;
  if (focus && !gists && !asked.shown) {
    const opened = [].concat(...s.tree({ entries: false }).rounds.map((round) => round.decisions)).filter((one) => one.done && one.edit === "expand");
    expect(opened.some((one) => one.start <= question.needle_at && question.needle_at < one.end), "the block of the fact was opened");
    asked.shown = { question: question.text, fact: question.needle_at, opened: opened.map((one) => [one.start, one.end]), before: start, after: levels() };
    view.set("tree", { colour: "change" });
    view.set("map", { quantity: "attention" });
    for (const id of ["ledger", "tree"]) view.show(id);
    for (const theme of ["light", "dark"]) {
      view.theme(theme);
      view.screenshot("window", `wlod-${theme}.png`, { width: 1600, height: 1000 });
    }
  }
  s.goto(fed);
}
log(`wlod: ${asked.gists} of ${asked.of} questions answered from gists alone, ${asked.focus} with focus, ${asked.truncation} from the last 352 tokens`);
expect(asked.focus > asked.truncation, "focus answers more than truncation to the budget");

// Opening a block and closing it again: rows are those of a full pass each time.
const gist = s.tree().entries.find((entry) => entry.level === 1);
expect(s.expand(gist.node, { now: true }).ok && levels()[1] === start[1] - 1, "a gist gave way to its tokens");
expectNear(s.drift().v, [0, 0, 0, 0], {}, "an opened block leaves no drift");
expect(s.collapse(gist.node, { now: true }).ok, "the tokens gave way to their gist");
expectNear(levels(), start, {}, "as before");
expectNear(s.drift().v, [0, 0, 0, 0], {}, "a closed block leaves no drift");
expect(s.invariants().every((one) => one.ok), "every invariant holds");
expect(asked.focus > asked.gists, "focus answers more than gists alone");
expectDump(asked, "expected/wlod.json");
