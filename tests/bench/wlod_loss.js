// SPDX-License-Identifier: GPL-3.0-or-later
// What a working context costs on plain text, beside truncation: a model reads `read` tokens, then takes the next `given`
// tokens one by one. Shown is the loss of these in nats. Truncation has as many rows as the working context begins with.
// Excerpts are spread over the text. No gist is expanded.
//   kvlab run wlod_loss.js -- MODEL TEXT [READ [BUDGET [EXCERPTS [GISTS]]]]
const [model, file] = args, [read = 8000, rows = 512, excerpts = 2] = args.slice(2, 5).map(Number), gists = args[5] ?? "mean,trained";
const given = 150, most = read + given;
const plain = (capacity) => lab.open({ model: model, capacity: capacity, history_bytes: 0, probes: false, check: { level: "off" } });
const context = (gist) => lab.open({ model: model, history_bytes: 0, check: { level: "off" }, wlod: { budget: rows, moments: most + rows, gist: gist,
                                     lens: "off", start_tokens: rows / 2, start_gists: rows * 4, protect: rows / 4 } });
const ways = [...gists.split(",").map((gist) => [`gists, ${gist}`, () => context(gist)]), ["truncation", () => plain(rows + 8)], ["full text", () => plain(most + 8)]];
const lossOf = (logits, id) => { const top = Math.max(...logits); return top + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - top), 0)) - logits[id]; };
const sums = ways.map(() => 0), lengths = ways.map(() => 0);
for (let n = 0; n < excerpts; ++n) {
  let ids = null, entries = 0;
  ways.forEach(([name, open], i) => {
    const s = open();
    if (!ids) {
      const all = s.tokenise(lab.readText(file)), begin = Math.floor((all.length - most) * (n + 0.5) / excerpts);
      ids = all.slice(begin, begin + most);
    }
    s.prefill(ids.slice(name === "truncation" ? read - entries : 0, read), { last: false });
    if (name.startsWith("gists")) entries = s.length;  // truncation has as many rows
    lengths[i] = s.length;
    for (const id of ids.slice(read)) {
      sums[i] += lossOf(s.logits(), id) / given / excerpts;
      s.step(1, { tokens: [id] });
    }
    s.close();
  });
}
log(`${file}: ${excerpts} times ${read} tokens, then the loss of ${given}`);
ways.forEach(([name], i) => log(`${name.padEnd(16)} ${sums[i].toFixed(3)} nats behind ${lengths[i]} rows`));
