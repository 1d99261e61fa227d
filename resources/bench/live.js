// SPDX-License-Identifier: Apache-2.0
// wLOD on the demo model, token by token: what each edit of the focus allocator computes and takes against a full pass; answers beside truncation
/** Ways to recompute: as it is unless told; as if edits made nothing dirty; a share of the dirty rows; none of them. */
const ways = [
  ["weighs", {}],
  ["does not weigh", { dirty: 1 }],
  ["selective 0.05", { dirty: 1, recompute: "selective", selective_ratio: 0.05 }],
  ["keep", { recompute: "keep" }],
];

const open = (wlod) => bench.open({ model: "demo", wlod, check: { level: "off" } });

/** Reads tokens, so many in a call. */
function read(s, ids, piece = 64) {
  for (let i = 0; i < ids.length; i += piece) {
    const tokens = ids.slice(i, i + piece);
    s.step(tokens.length, { tokens });
  }
}

/** The demo's story, again and again: each edit of the working context in its last third. */
function costs(attention, budget, [name, way]) {
  const moments = bench.quick ? 200 : 6 * 1024, start = Math.floor(moments * 2 / 3), what = `${attention}, budget ${budget}, ${name}`;
  log(`live: ${what}`);
  const s = open(Object.assign({ attention, budget, moments: 2 * moments, protect: bench.quick ? 32 : 128,
    start_tokens: budget / 4, start_gists: budget * 4, cooldown: 0 }, way));
  const story = s.tokenise(lab.readText("resource:demo/story.txt"));
  const text = Array.from({ length: moments }, (_, i) => story[i % story.length]);
  s.prefill(text.slice(0, start), { last: false });
  const edits = [];
  for (const token of text.slice(start)) {
    s.step({ tokens: [token] });
    const { change, rows, rounds } = s.tree({ entries: false }), round = rounds[rounds.length - 1];
    if (!change || change.tick !== s.tick || !(change.swapped > 0)) continue;
    const focus = round.tick === s.tick && round.decisions.some((one) => one.done && one.edit === "expand");
    edits.push({ rows, computed: change.computed, us: change.us, focus });
  }
  const { k, v } = s.drift(), expanding = edits.filter((edit) => edit.focus);
  bench.row(what, "drift", "relative L2", Math.max(...k, ...v));
  const fullUs = s.rebuild().ms * 1000, sum = (key) => edits.reduce((all, edit) => all + edit[key], 0);
  bench.row(what, "edits", "edits", edits.length);
  if (edits.length) {
    bench.row(what, "full_over_computed", "rows", edits.map((edit) => edit.rows / edit.computed));
    bench.row(what, "full_over_computed_all", "rows", sum("rows") / sum("computed"));
    bench.row(what, "full_over_edit", "time", edits.map((edit) => fullUs / edit.us));
  }
  bench.row(what, "focus", "rounds that expand", expanding.length);
  if (expanding.length) {
    bench.row(what, "full_over_computed_focus", "rows", expanding.map((edit) => edit.rows / edit.computed));
    bench.row(what, "full_over_focus", "time", expanding.map((edit) => fullUs / edit.us));
  }
  s.close();
}

/** Questions about stories that were read and asked in this way. */
function answers([name, way]) {
  const s = open(Object.assign({ budget: 352, moments: 4096, gist: "trained", protect: 64, every: 8, cooldown: 0 }, way));
  const truncation = bench.truncation(), right = [], truncated = [];
  for (const set of bench.prompts("recall-1024"))
    for (const story of set.stories) {
      log(`live: answers, ${name}: ${right.length}`);
      const text = bench.story(s, story);
      s.reset();
      read(s, text);
      for (const question of story.questions) {
        const asker = s.fork(), { asked, begun, deciding } = bench.question(asker, question);
        read(asker, asked.concat(begun));
        right.push(Number(bench.largest(asker.logits()) === deciding));
        truncated.push(Number(bench.askTruncated(truncation, text, question, asker.length).right));
        asker.close();
      }
    }
  bench.row(`questions, ${name}`, "answered", "share", bench.mean(right));
  bench.row(`questions, ${name}`, "answered_truncation", "share", bench.mean(truncated));
  bench.row(`questions, ${name}`, "asked", "questions", right.length);
  truncation.close();
  s.close();
}

for (const attention of ["flat", "pyramid"])
  for (const budget of bench.quick ? [96] : [512, 1024, 2048])
    for (const way of ways) costs(attention, budget, way);
if (!bench.quick) ways.forEach(answers);
