// SPDX-License-Identifier: Apache-2.0
// The tree of a wLOD session: far blocks are gists, and a question opens one.
test("the focus allocator opens a block", () => {
  const story = JSON.parse(lab.readText("resource:prompts/recall-1024.json")).sets[0].stories[0];
  const s = lab.open({ model: "demo", wlod: { budget: 352, moments: 4096, gist: "trained", lens: "attention", start_tokens: 64,
                       start_gists: 1024, protect: 64, cooldown: 0, every: 1000, recompute: "incremental" } });
  s.prefill([1, ...s.tokenise(story.text)], { last: false });
  s.prefill(s.tokenise(" " + story.questions[0].text), { last: false });
  view.set("tree", { colour: "change" });
  s.refocus(2);
  expectDump("tree", "expected/tree.txt");
  expectImage("tree", "expected/tree.png", { width: 960, height: 480 });
  s.close();
});
