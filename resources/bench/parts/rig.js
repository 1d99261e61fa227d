// SPDX-License-Identifier: Apache-2.0
// What the scripts of `kvlab bench` share: the program runs this file, then the script, and takes bench.rows.
const [speed, model] = args;
const rows = [];
this.bench = {
  /** Few runs: a test of the script, not of the machine. */
  quick: speed === "quick",
  /** Of --model; empty unless given. */
  model,
  rows,
  /** A figure: the table shows the median of its samples, the least, the 95th of 100 and the largest. */
  row(what, metric, unit, samples) {
    const all = [].concat(samples);
    expect(all.length > 0 && all.every(Number.isFinite), `${what}: ${metric} was not measured`);
    rows.push({ case: what, metric, unit, samples: all });
  },
  /** A session that keeps no history; probes off means checks off, too. */
  open(manifest) {
    const plain = manifest.probes === false ? { check: { level: "off" } } : {};
    return lab.open(Object.assign({ history_bytes: 0 }, plain, manifest));
  },
  /** Arbitrary tokens. */
  tokens(n, vocabulary) { return Array.from({ length: n }, (_, i) => (i * 7919 + 13) % vocabulary); },
  /** Tokens of a session's model. */
  vocabulary(s) {
    s.promptIds([1]);
    const size = s.logits().length;
    s.reset();
    return size;
  },
  /** Microseconds of a tick, by the engine's clock. */
  us(report) { return Math.max(...report.events.map((event) => event.start_us + event.us)); },
  /** Milliseconds of any work, by the script's clock, which ticks once in a millisecond. */
  ms(work) {
    const start = Date.now();
    work();
    return Date.now() - start;
  },
  /** A file of gates for the policy smartkv of a session's model, which has rows: equal weights, because time does not
   *  depend on them. */
  gates(s) {
    const layers = s.policies().layers.length, [kvHeads, headDim] = s.row(0, 0).shape;
    const hidden = 256, weight = "!<";  // two letters that are a small bf16
    const header = { __metadata__: { input: "pre_rope", model: "any", threshold: "0.05", cap: "6" } };
    let end = 0;
    const add = (name, shape) => {
      const begin = end;
      end += 2 * shape.reduce((product, n) => product * n, 1);
      header[name] = { dtype: "BF16", shape, data_offsets: [begin, end] };
    };
    for (let layer = 0; layer < layers; ++layer)
      for (let stage = 1; stage <= 4; ++stage) {
        const out = stage === 4 ? 1 : hidden;
        add(`layers.${layer}.w${stage}`, [kvHeads, out, stage === 1 ? headDim : hidden]);
        add(`layers.${layer}.b${stage}`, [kvHeads, out]);
      }
    const words = JSON.stringify(header), pages = Math.ceil(words.length / 256);  // its length is two bytes of ASCII
    const length = "\u0000" + String.fromCharCode(pages) + "\u0000".repeat(6);
    return lab.writeText("gates.safetensors", length + words.padEnd(pages * 256) + weight.repeat(end / 2)).path;
  },
  /** The sets of a file of prompts (resources/prompts/README.md), one for each seed. */
  prompts(name) { return JSON.parse(lab.readText(`resource:prompts/${name}.json`)).sets; },
  /** Tokens of a story, and those of a question, of its reply as far as it is begun, and the one that decides. */
  story(s, story) { return [1].concat(s.tokenise(story.text)); },
  question(s, question) {
    const reply = s.tokenise(question.reply);
    return { asked: s.tokenise(question.text), begun: reply.slice(0, question.deciding), deciding: reply[question.deciding] };
  },
  /** What a wLOD figure is compared with: a plain session that has the last tokens of a text alone. */
  truncation() { return lab.open({ model: "demo", probes: false, check: { level: "off" } }); },
  /** Asks it behind the last tokens of a text: so many rows in all. No token in front is kept. */
  askTruncated(s, text, question, rows) {
    const { asked, begun, deciding } = this.question(s, question), room = Math.max(0, rows - asked.length - begun.length);
    s.prefill(text.slice(Math.max(0, text.length - room)).concat(asked, begun), { last: false });
    const logits = s.logits();
    s.reset();
    return { logits, right: this.largest(logits) === deciding };
  },
  logProbabilities(logits) {
    const most = Math.max(...logits), sum = Math.log(logits.reduce((all, x) => all + Math.exp(x - most), 0)) + most;
    return logits.map((x) => x - sum);
  },
  /** KL divergence in nats, of log probabilities. */
  kl(p, q) { return p.reduce((sum, x, id) => sum + Math.exp(x) * (x - q[id]), 0); },
  mean(list) { return list.reduce((sum, x) => sum + x, 0) / list.length; },
  largest(list) { return list.indexOf(Math.max(...list)); },
};
