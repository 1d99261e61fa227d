// SPDX-License-Identifier: Apache-2.0
// Facts behind gists: a story of the demo model stands as gists of 32 tokens, all but its end. Questions are asked of the
// gists as they are, and again with the focus allocator: where the reply comes to the place, it expands what is looked at.
// Beside both stands truncation: the last tokens alone, in as many rows as the budget has entries.
// Pictures of the tree before the question, after the expansion, and after the answer, for the first question that only
// the expansion answers.
//   kvlab run wlod_focus.js --out DIR [-- STORIES]     writes wlod_focus.json and the pictures
const most = args.length ? Number(args[0]) : 2;
expect(most >= 1, "the number of stories is at least 1");
const sets = JSON.parse(lab.readText("resource:prompts/recall-1024.json")).sets;
const stories = [].concat(...sets.map((set) => set.stories)).slice(0, most);
const filler = " the rain falls again . a bird sings at dawn . the wind blows all day .";
const open = (lens) => lab.open({ model: "demo", wlod: { budget: 352, moments: 4096, gist: "trained", lens, start_tokens: 64,
                                                         start_gists: 1024, protect: 64, cooldown: 0, every: 1000 } });

/** The reply up to the place it names; `look` is called just before that. */
function ask(s, question, look = () => {}) {
  const reply = s.tokenise(" " + question.reply);
  s.prefill([...s.tokenise(" " + question.text), ...reply.slice(0, question.deciding)], { last: false });
  look(s);
  const token = s.step(1)[0].token;
  return { text: s.detokenise([...reply.slice(0, question.deciding), token]).trim(), right: token === reply[question.deciding] };
}

const levels = (s) => s.tree().entries.reduce((n, e) => (++n[e.level], n), [0, 0, 0]);
function picture(s, name, colour) {
  s.show();
  view.set("tree", { colour });
  view.screenshot("tree", `wlod_focus_${name}.png`, { width: 1200, height: 560 });
}

const last = lab.open({ model: "demo", capacity: 352 });
function askTruncated(ids, question) {
  const long = last.tokenise(" " + question.text).length + last.tokenise(" " + question.reply).length;
  last.prefill(ids.slice(long - 352), { last: false });
  const right = ask(last, question).right;
  last.goto(0);
  return right;
}
const figures = { asked: 0, gists: 0, focused: 0, truncation: 0, shown: null };
for (const story of stories) {
  const plain = open("off"), focused = open("attention");
  const ids = [1, ...plain.tokenise(story.text)], more = plain.tokenise(filler);
  for (let i = 0; ids.length < 1024 + 64; ++i) ids.push(more[i % more.length]);
  for (const s of [plain, focused]) s.prefill(ids, { last: false });
  const at = { plain: plain.tick, focused: focused.tick };
  for (const question of story.questions) {
    const gists = ask(plain, question);
    plain.goto(at.plain);
    let after = null;
    const answer = ask(focused, question, (s) => { s.refocus(3); after = levels(s); });
    focused.goto(at.focused);
    figures.asked += 1;
    figures.gists += gists.right ? 1 : 0;
    figures.truncation += askTruncated(ids, question) ? 1 : 0;
    figures.focused += answer.right ? 1 : 0;
    if (figures.shown || gists.right || !answer.right) continue;
    const before = levels(focused);
    picture(focused, "1_collapsed", "level");
    ask(focused, question, (s) => { s.refocus(3); picture(s, "2_expanded", "change"); });
    picture(focused, "3_answered", "score");
    const opened = [].concat(...focused.tree({ entries: false }).rounds.map((round) => round.decisions))
      .filter((one) => one.done && one.edit === "expand").map((one) => [one.start, one.end]);
    expect(opened.some(([begin, end]) => begin <= question.needle_at && question.needle_at < end), "the block that holds the fact was expanded");
    figures.shown = { question: question.text, gists: gists.text, focused: answer.text, needleAt: question.needle_at, opened, before, after };
    log(`"${question.text}": of the gists alone "${gists.text}", with focus "${answer.text}"; opened ${JSON.stringify(opened)}, the fact is at ${question.needle_at}`);
    focused.goto(at.focused);
  }
  plain.close();
}
log(`${figures.asked} questions: ${figures.gists} answered from gists alone, ${figures.focused} with the focus allocator, ${figures.truncation} from the last 352 tokens`);
expect(figures.focused > figures.gists, "focus answers more than gists alone");
expect(figures.shown !== null, "some question is answered by the expansion alone");
lab.writeText("wlod_focus.json", JSON.stringify(figures, null, 1));
