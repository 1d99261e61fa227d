// SPDX-License-Identifier: Apache-2.0
// Records lifespans of texts for training gates: one pass over each text, nothing evicted.
//   kvlab run record.js -- TEXTS.json FOLDER [MODEL]     writes FOLDER/0000.safetensors and so on
// TEXTS.json is a list of {text} (train.py stories makes one for the demo model); FOLDER exists; MODEL is the demo
// model or a directory.
expect(args.length >= 2, "a file of texts and a folder are given behind --");
const texts = JSON.parse(lab.readText(args[0]));
expect(Array.isArray(texts) && texts.length > 0, args[0] + " is a list of texts");
const most = Math.max(...texts.map((one) => one.text.length));  // a token has one character at least
const s = lab.open({ model: args[2] || "demo", capacity: Math.min(most + 8, 8192), probes: false });
let rows = 0;
texts.forEach((one, number) => {
  s.reset();
  s.prompt(one.text);
  rows += s.recordLifespans(args[1] + "/" + ("000" + number).slice(-4) + ".safetensors").rows;
});
log(texts.length + " recordings, " + rows + " rows");
s.close();
