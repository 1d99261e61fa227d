// SPDX-License-Identifier: Apache-2.0
// wLOD on the demo model: questions answered when facts stand as tokens, in LOD1, in LOD2, and with the focus allocator, beside truncation to as many rows
const moments = 1024, tail = 64, block = 32;  // stories are filled up to so many moments; filler behind them stays
/** Where the facts stand before a question is asked. gists: moments that begin as LOD1; rounds: of the focus allocator. */
const settings = [
  { name: "fact in LOD1, the rest tokens", needle: true },
  { name: "all in LOD1", gists: moments },
  { name: "all in LOD2", gists: 0 },
  { name: "all in LOD1, focus", gists: moments, rounds: 3 },
  { name: "all in LOD2, focus", gists: 0, rounds: 6 },
];
const few = bench.quick ? 1 : Infinity;
const stories = [].concat(...bench.prompts("recall-1024").slice(0, few).map((set) => set.stories.slice(0, few)));

function openWith(wlod) {
  const room = { budget: 4096, moments: 4096, lens: "off", protect: 0, cooldown: 0 };
  return lab.open({ model: "demo", wlod: Object.assign(room, wlod), check: { level: "off" } });
}

function openFor(setting, gist, sigma) {
  const begins = setting && setting.gists !== undefined
    ? { budget: 352, start_tokens: tail, start_gists: setting.gists, protect: tail } : {};
  return openWith(Object.assign({ gist, sigma }, begins, setting && setting.rounds ? { lens: "attention" } : {}));
}

const feed = (s, ids) => ids.length && s.prefill(ids, { last: false });

/** A story, then sentences that say nothing, so that it ends with a whole LOD2 and a tail of tokens. */
function filled(s, story) {
  const ids = bench.story(s, story), filler = s.tokenise(" the rain falls again . a bird sings at dawn . the wind blows all day .");
  for (let i = 0; ids.length < moments + tail; ++i) ids.push(filler[i % filler.length]);
  return ids;
}

/** Asks, begins the reply, lets the allocator look where the deciding token comes; the session is then where it was. */
function ask(s, question, setting) {
  const before = s.tick, { asked, begun, deciding } = bench.question(s, question);
  if (setting && setting.needle) {
    const actions = [];
    for (let at = Math.floor(question.needle[0] / block) * block; at < question.needle[1]; at += block)
      actions.push({ action: "collapse", node: at * 4 + 1 });
    s.inject(actions, { now: true });
  }
  feed(s, asked);
  feed(s, begun);
  if (setting && setting.rounds) s.refocus(setting.rounds);
  const logits = s.logits();
  const answer = { entries: s.length, p: bench.logProbabilities(logits), right: bench.largest(logits) === deciding };
  s.goto(before);
  return answer;
}

/** Every question of every story; without a setting all facts stand as tokens. */
function askAll(setting, gist, sigma) {
  const s = openFor(setting, gist, sigma);
  const answers = [].concat(...stories.map((story) => {
    s.reset();
    feed(s, filled(s, story));
    return story.questions.slice(0, few).map((question) => ask(s, question, setting));
  }));
  s.close();
  return answers;
}

/** The same questions behind the last tokens alone, each with as many rows as the answer beside it had entries. */
function askTruncated(beside) {
  const s = bench.truncation(), answers = [];
  for (const story of stories) {
    const text = filled(s, story);
    for (const question of story.questions.slice(0, few)) {
      const { entries } = beside[answers.length], { logits, right } = bench.askTruncated(s, text, question, entries);
      answers.push({ entries, p: bench.logProbabilities(logits), right });
    }
  }
  s.close();
  return answers;
}

/** 95 % of a share, after Wilson. */
function interval(share, n) {
  const z = 1.959963984540054, middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const half = z / (1 + z * z / n) * Math.sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return [middle - half, middle + half];
}

const share = (answers) => bench.mean(answers.map((one) => Number(one.right)));

function compare(what, tokens, answers) {
  const [low, high] = interval(share(answers), answers.length);
  const same = answers.map((one, i) => Number(bench.largest(tokens[i].p) === bench.largest(one.p)));
  bench.row(what, "answered", "share", share(answers));
  bench.row(what, "answered_low", "share", low);
  bench.row(what, "answered_high", "share", high);
  bench.row(what, "kl", "nats", bench.mean(answers.map((one, i) => bench.kl(tokens[i].p, one.p))));
  bench.row(what, "top1_agreement", "share", bench.mean(same));
  bench.row(what, "entries", "entries", bench.mean(answers.map((one) => one.entries)));
}

/** A block near the beginning is collapsed and everything behind it dirty; `selective` computes some of it. */
function selective(ratio) {
  const exact = [], some = [], ms = [0, 0];
  const both = [{ recompute: "incremental" }, { recompute: "selective", selective_ratio: ratio }].map(openWith);
  let drift = 0;
  for (const story of stories) {
    both.forEach((s, i) => {
      s.reset();
      feed(s, filled(s, story));
      ms[i] += bench.us(s.collapse(2 * block * 4 + 1, { now: true })) / 1000;
    });
    const { k, v } = both[1].drift();
    drift = Math.max(drift, ...k, ...v);
    for (const question of story.questions.slice(0, few)) {
      if (question.needle[0] < 3 * block) continue;  // the fact itself is behind the gist
      exact.push(ask(both[0], question));
      some.push(ask(both[1], question));
    }
  }
  for (const s of both) s.close();
  const what = `selective ${ratio || "0.0"}, a block at 6 % collapsed`;
  bench.row(what, "incremental_over_selective", "x", ms[0] / ms[1]);
  bench.row(what, "drift", "relative L2", drift);
  if (exact.length === 0) return;
  bench.row(what, "kl", "nats", bench.mean(exact.map((one, i) => bench.kl(one.p, some[i].p))));
  bench.row(what, "answered", "share", share(some));
  bench.row(what, "answered_incremental", "share", share(exact));
}

log("focus: tokens");
const tokens = askAll(undefined, "mean", 1);
compare("tokens", tokens, tokens);
for (const ratio of [0, 0.05, 0.15, 0.5]) {
  log(`focus: selective ${ratio}`);
  selective(ratio);
}
for (const gist of ["mean", "trained"])
  for (const sigma of [1, 0])
    for (const setting of settings) {
      log(`focus: ${setting.name}, gist ${gist}, sigma ${sigma}`);
      const answers = askAll(setting, gist, sigma);
      compare(`${setting.name}, gist ${gist}${sigma ? "" : ", sigma 0"}`, tokens, answers);
      if (gist === "mean" && sigma) compare(`${setting.name}, truncation to as many rows`, tokens, askTruncated(answers));
    }
