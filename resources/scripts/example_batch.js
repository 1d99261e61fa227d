// SPDX-License-Identifier: Apache-2.0
// A batch: three sequences behind one story, each with a seed and a policy of its own. Their rows lie in the same memory
// until they differ, one pass serves all, and each has the same result as alone.
//   kvlab run example_batch.js

const story = lab.readText("resource:demo/story.txt").trim();
const base = { model: "demo", dtype: "f32", capacity: 1024, history_bytes: 1 << 22, sampling: { temperature: 0.8, seed: 1 } };
const questions = [" Where is the", " The", null];
const changes = [
  (one) => one.settings({ policy: "smartkv:ratio=0.25" }),
  (one) => one.settings({ sampling: { temperature: 0.8, seed: 2 } }),
  (one) => one.settings({ sampling: { temperature: 0.8, seed: 3 } }) ];

const s = lab.open(base);
s.prompt(story);
const b = lab.batch(s, 3);
const begun = b.bytes();
const shares = begun.sequences[0].shared > 0;  // a device copies
expect(begun.sequences.length === 3 && (!shares || begun.total < begun.copies / 2), "three sequences take the memory of one");

changes.forEach((change, i) => change(b.sequence(i)));
b.prompts(questions);
const ticks = b.step(12);
expect(ticks.every((tick) => tick.sequences.length === 3));
b.report().forEach((row) => log(`sequence ${row.sequence}: ${row.length} tokens${row.left ? ", " + row.left.why : ""}`));

// The same alone.
changes.forEach((change, i) => {
  const alone = lab.open(base);
  alone.prompt(story);
  change(alone);
  if (questions[i] !== null) alone.prompt(questions[i]);
  alone.step(ticks.filter((tick) => tick.sequences[i].took).length);
  expect(b.sequence(i).stateHash() === alone.stateHash(), `sequence ${i} is what it would be alone`);
  alone.close();
});

// An edit of one sequence, and a sequence that ends.
const hash = b.sequence(2).stateHash();
b.sequence(1).inject({ action: "delete", position: 3 }, { now: true });
b.release(0);
expect(b.sequence(2).stateHash() === hash, "the others stay as they are");
expectError(() => b.text(0), "bad_argument");
const last = b.step()[0].sequences;
expect(!last[0].took && last.length === 3);
const own = b.sequence(2).fork();
b.close();
expect(own.step()[0].ok, "a sequence goes on as a session");
expectError(() => b.step(), "closed_session");
expectError(() => lab.batch(s, 0), "bad_argument");
log("batch: three sequences, one pass, one beginning");
