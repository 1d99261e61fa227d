// SPDX-License-Identifier: Apache-2.0
// SmartKV beside a recency policy at the same budget: a quarter of a story of 512 tokens is kept, by each KV head what its
// gate says will be looked at longest. The fact that the question asks for lies far behind the window.
//   kvlab run example_smartkv.js --out DIR [--update]    writes pictures; expectations are in expected/

view.freezeClock();
const set = JSON.parse(lab.readText("resource:prompts/recall-512.json")).sets[0];
const open = (policy) => lab.open({ model: "demo", dtype: "f32", policy, residency: "kv_head" });

/** The token at the place that the reply names, and what it should be. */
function ask(s, question) {
  const reply = s.tokenise(question.reply), tick = s.tick;
  s.prefill([...s.tokenise(question.text), ...reply.slice(0, question.deciding)], { last: false });
  const token = s.step()[0].token;
  s.goto(tick);
  return token === reply[question.deciding];
}

const figures = { smartkv: 0, streaming_llm: 0, asked: 0, kept: [] };
const stories = set.stories.slice(0, 3);
const smart = open("smartkv:ratio=0.25"), recent = open("streaming_llm:ratio=0.25");
for (const story of stories) {
  for (const s of [smart, recent]) {
    s.reset();
    s.promptIds([1, ...s.tokenise(story.text)]);
  }
  for (const question of story.questions) {
    figures.asked += 1;
    figures.smartkv += ask(smart, question) ? 1 : 0;
    figures.streaming_llm += ask(recent, question) ? 1 : 0;
  }
}
log(`smartkv answers ${figures.smartkv} of ${figures.asked} questions, streaming_llm ${figures.streaming_llm}, both with a quarter of the rows`);

const audit = smart.policies();
for (const layer of audit.layers) {
  expect(!layer.broken && layer.rows === layer.requested, `layer ${layer.layer} keeps ${layer.rows} rows, asked for ${layer.requested}`);
  figures.kept.push({ layer: layer.layer, kvHead: layer.kvHead, rows: layer.rows, bands: layer.bands });
}
expect(smart.invariants().every((one) => one.ok), "every invariant holds");
expect(audit.layers.every((layer) => layer.rows < 0.3 * smart.length), "every head holds a quarter of the rows");

smart.show();
view.set("map", { quantity: "residency" });
for (const id of ["smartkv", "audit"]) view.show(id);
for (const theme of ["light", "dark"]) {
  view.theme(theme);
  view.screenshot("window", `smartkv-${theme}.png`, { width: 1600, height: 1000 });
}
expect(figures.smartkv > figures.streaming_llm, "predicted lifespans answer more than recency at the same budget");
expectDump(figures, "expected/smartkv.json");
