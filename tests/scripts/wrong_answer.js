// SPDX-License-Identifier: GPL-3.0-or-later
// From a wrong answer to the edit that caused it, as a person does it at the window: three gestures, a picture after
// each. kvlab run wrong_answer.js --out FOLDER [-- MODEL]
const model = args[0] || "demo", demo = model === "demo";
const story = demo ? lab.readText("resource:demo/story.txt").trim()
  : "Anna put the key in the garden. It rained all day and nobody went out. Ben lives in Oslo.";
const said = demo ? " cellar" : " garden", instead = demo ? " attic" : " kitchen";
const rain = demo ? " the rain falls" : " The rain fell";
const question = demo ? " where is the silver key ? the silver key is in the" : " So Anna put the key in the";

const s = lab.open({ model });
s.prompt(story);
const untouched = s.fork();
untouched.prompt(rain + question);
const right = untouched.step()[0].text;
untouched.close();
expect(right === said, `the model knows the right answer: “${right}”`);

// Somebody replaces a word, and goes on.
const word = s.tokenise(story.slice(0, story.indexOf(said) + said.length));
const place = s.length - s.tokenise(story).length + word.length - 1;  // behind the tokens that stand before every text
expect(s.tokens()[place] === word[word.length - 1], "the word stands where it is looked for");
s.inject({ action: "replace", positions: [place], new_token_ids: s.tokenise(instead) }, { now: true });
const edited = s.tick, replacement = s.pos2ledger()[place];
s.prompt(rain);
s.prompt(question);
const answer = s.step()[0];
expect(answer.text !== said, `another answer: “${answer.text}”`);

const picture = (name) => view.screenshot("window", `wrong-answer-${name}.png`, { width: 1600, height: 1000 });
s.show();
view.show("history");
picture("0-it-says");
view.keys("strip", "End");  // the answer is the last token
picture("1-the-answer");
view.keys("strip", "Y");  // why is its row stale?
picture("2-why");
const window = view.dump("window");
expect(window.includes(`tick ${edited}`), "the tick of the edit is shown");
view.keys("window", "Ctrl+Alt+6");  // what did that edit change?
picture("3-difference");
const difference = view.dump("difference");
expect(difference.includes(`to ${edited}: replace`), difference);
log(`“${said}” became “${instead}” at tick ${edited}; the answer at tick ${answer.tick} is “${answer.text}”. ${difference.split("\n")[0]}`);

// Was it that word? The answer without its row.
const without = s.at(answer.tick - 1).knockOut([replacement], { k: 3 });
log(`without the word: KL ${without.kl.toFixed(3)}, ${without.tokens.map((t) => `${t.text} ${t.with.toFixed(2)} to ${t.without.toFixed(2)}`).join(", ")}`);
expect(without.kl > 0.01, "the word mattered");
s.close();
