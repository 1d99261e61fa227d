// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of a working context on plain text beside truncation. A model reads `read` tokens, then takes the next `given`
// tokens one by one. Shown is the loss of these in nats. Truncation has as many rows as the working context begins with.
// Excerpts are spread over the text. No gist is expanded.
//   kvlab run wlod_loss.js --out DIR -- MODEL TEXT [READ [BUDGET [EXCERPTS [GISTS]]]]     writes wlod_loss.json
const [model, file] = args, [read = 8000, rows = 512, excerpts = 2] = args.slice(2, 5).map(Number), gists = args[5] ?? "mean,trained";
const given = 150, most = read + given;
const common = { model: model, threads: 1, numerics: model === "demo" ? "portable-fma" : "portable-q8" };
const plain = (capacity) => lab.open(Object.assign({}, common, { capacity: capacity, history_bytes: 0, probes: false, check: { level: "off" } }));
const context = (gist) => lab.open(Object.assign({}, common, { history_bytes: 0, check: { level: "off" }, wlod: { budget: rows, moments: most + rows, gist: gist,
                                     lens: "off", start_tokens: rows / 2, start_gists: rows * 4, protect: rows / 4 } }));
const ways = [...gists.split(",").map((gist) => [`gists, ${gist}`, () => context(gist)]), ["truncation", () => plain(rows + 8)], ["full text", () => plain(most + 8)]];
const losses = ways.map(() => []), lengths = ways.map(() => 0);
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
    losses[i].push(s.scoreIds(ids.slice(read), { each: true }).nll);
    s.close();
  });
}
let seed = 1;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647, mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
/** Mean of the differences, and 95 % of the means of samples with replacement. */
function interval(list) {
  const means = Array.from({ length: 2000 }, () => mean(list.map(() => list[Math.floor(random() * list.length)]))).sort((a, b) => a - b);
  return `${mean(list).toFixed(3)} (${means[50].toFixed(3)} .. ${means[1949].toFixed(3)})`;
}
log(`${file}: ${excerpts} times ${read} tokens, then the loss of ${given}; beside it what is added to the full text's loss (95 %)`);
const full = losses[ways.length - 1];
ways.forEach(([name], i) => log(`${name.padEnd(16)} ${mean(losses[i]).toFixed(3)} nats behind ${lengths[i]} rows, added ${interval(losses[i].map((x, n) => x - full[n]))}`));
const truncated = losses[ways.length - 2];
ways.slice(0, -2).forEach(([name], i) => log(`${name} against truncation: ${interval(losses[i].map((x, n) => x - truncated[n]))}`));
lab.writeText("wlod_loss.json", JSON.stringify({ model, file, read, given, rows, ways: ways.map(([name], i) => ({ name, rows: lengths[i], losses: losses[i] })) }, null, 1) + "\n");
