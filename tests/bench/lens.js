// SPDX-License-Identifier: GPL-3.0-or-later
// Lenses beside each other: questions about facts of the demo model's stories that stand in gists, asked after rounds of
// the focus allocator; none with the lens off. Shown are the share answered and the entries then.
//   kvlab run lens.js -- [STORIES [LENS,LENS.. [GIST,GIST.. [START_GISTS [ROUNDS]]]]]
const [most = 10, lenses = "attention,trained", kinds = "trained,mean", startGists = 1024, rounds = 3] = args;
const stories = [].concat(...JSON.parse(lab.readText("resource:prompts/recall-1024.json")).sets.map((set) => set.stories)).slice(0, most);
const filler = " the rain falls again . a bird sings at dawn . the wind blows all day .";
for (const gist of kinds.split(","))
  for (const lens of lenses.split(",")) {
    let right = 0, asked = 0, entries = 0;
    for (const story of stories) {
      const s = lab.open({ model: "demo", check: { level: "off" }, wlod: { budget: 352, moments: 4096, gist, lens, start_tokens: 64,
                           start_gists: Number(startGists), protect: 64, cooldown: 0, every: 1000 } });
      const ids = [1, ...s.tokenise(story.text)], more = s.tokenise(filler);
      for (let i = 0; ids.length < 1024 + 64; ++i) ids.push(more[i % more.length]);
      s.prefill(ids, { last: false });
      const fed = s.tick;
      for (const question of story.questions) {
        const reply = s.tokenise(" " + question.reply);
        s.prefill([...s.tokenise(" " + question.text), ...reply.slice(0, question.deciding)], { last: false });
        if (lens !== "off") s.refocus(Number(rounds));
        entries += s.length;
        right += s.topk(1)[0].id === reply[question.deciding] ? 1 : 0;
        asked += 1;
        s.goto(fed);
      }
      s.close();
    }
    log(`gists ${gist}, lens ${lens}: ${right} of ${asked} answered (${(100 * right / asked).toFixed(1)} %), ${(entries / asked).toFixed(0)} entries`);
  }
