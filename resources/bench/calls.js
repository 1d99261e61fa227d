// SPDX-License-Identifier: Apache-2.0
// every verb of a session by script, as opened, at 8 192 rows or as many as --set capacity=N has room for: microseconds of a call (--model)
// Each call stands in a state like the one before it: what it did is undone, which is not measured.
const model = bench.model || "demo", most = bench.quick ? 48 : 8192, runs = bench.quick ? 2 : 41, spare = 48;
log(`calls: ${model}`);
const s = lab.open(bench.quick ? { model, capacity: most + spare } : { model });
const rows = Math.min(most, s.remaining() - spare), middle = Math.floor(rows / 2), path = "calls.bench";
expect(rows > 0, `the capacity has no room for rows: --set capacity=${spare + 1} or more`);
s.promptIds(bench.tokens(rows - 1, bench.vocabulary(s)));
s.step(1);
const one = [{ action: "delete", position: middle }], here = s.tick, id = middle, undo = () => s.undo();
const last = here - 1;  // and the tick before it is kept, too

let fork, saved, turn = 0;
/** A measured call, and what stands in front of it and behind it. */
const call = (work, { before = () => {}, after = () => {} } = {}) => ({ before, work, after });
const edit = (work) => call(work, { after: undo });
const calls = {
  "inject delete": edit(() => s.inject(one, { now: true })),
  "inject replace_pair": edit(() => s.inject([{ action: "replace_pair", original_pos1: middle, original_pos2: middle + 1, new_token_ids: [7] }], { now: true })),
  "inject pending": call(() => s.inject(one), { after: () => s.clearPending() }),
  undo: call(() => s.undo(), { before: () => s.inject(one, { now: true }) }),
  redo: call(() => s.redo(), { before: () => { s.inject(one, { now: true }); s.undo(); }, after: undo }),
  goto: call(() => s.goto(last), { after: () => s.goto(here) }),
  "at, a kept tick": call(() => s.at(last - (turn ^= 1))),
  fork: call(() => { fork = s.fork(); }, { after: () => fork.close() }),
  prompt: edit(() => s.prompt(" and")),
  promptIds: edit(() => s.promptIds([5])),
  prefill: edit(() => s.prefill([5])),
  endPrefill: call(() => s.endPrefill()),
  score: edit(() => s.score(" and")),
  scoreIds: edit(() => s.scoreIds([5])),
  step: edit(() => s.step()),
  run: edit(() => s.run({ maxTicks: 1 })),
  stepAction: call(() => s.stepAction(), { before: () => s.inject(one), after: undo }),
  apply: call(() => s.apply(), { before: () => s.inject(one), after: undo }),
  stage: call(() => s.stage()),
  stepStage: call(() => s.stepStage(), { after: () => s.cancelTick() }),
  finishTick: call(() => s.finishTick(), { before: () => s.stepStage(), after: undo }),
  cancelTick: call(() => s.cancelTick(), { before: () => s.stepStage() }),
  clearPending: call(() => s.clearPending(), { before: () => s.inject(one) }),
  plan: call(() => s.plan(one)),
  evict: edit(() => s.evict(0, [id], { now: true })),
  break: call(() => s.break("length > 1000000"), { after: () => s.clearBreaks() }),
  changeBreak: call(() => s.changeBreak(s.breaks()[0].id, { enabled: false }), { before: () => s.break("length > 1000000"), after: () => s.clearBreaks() }),
  clearBreaks: call(() => s.clearBreaks(), { before: () => s.break("length > 1000000") }),
  setBrightness: edit(() => s.setBrightness(id, 1)),
  pin: edit(() => s.pin(id)),
  settings: call(() => s.settings({ op_events: false })),
  compact: call(() => s.compact()),
  rebuild: edit(() => s.rebuild()),
  runBack: call(() => s.runBack("length < 0")),
  timeline: call(() => s.timeline()),
  note: call(() => s.note("x"), { after: () => s.clearNotes() }),
  changeNote: call(() => s.changeNote(s.notes()[0].id, "y"), { before: () => s.note("x"), after: () => s.clearNotes() }),
  clearNotes: call(() => s.clearNotes(), { before: () => s.note("x") }),
  gotoNote: call(() => s.gotoNote(s.notes()[0].id), { before: () => s.note("x"), after: () => s.clearNotes() }),
  table: call(() => s.tick),
  tokenise: call(() => s.tokenise("a few words")),
  detokenise: call(() => s.detokenise([5, 6])),
  logits: call(() => s.logits()),
  value: call(() => s.value("length")),
  drift: call(() => s.drift()),
  attention: call(() => s.attention(0)),
  attentionMatrix: call(() => s.attentionMatrix(0, { begin: 0, end: Math.min(rows, 16) })),
  row: call(() => s.row(0, middle)),
  why: call(() => s.why(id)),
  knockOut: call(() => s.knockOut([id])),
  difference: call(() => s.difference(last)),
  watch: call(() => s.watch("length"), { after: () => s.clearWatches() }),
  clearWatches: call(() => s.clearWatches(), { before: () => s.watch("length") }),
  storage: call(() => s.storage(0)),
  quantisation: call(() => s.quantisation()),
  bytes: call(() => s.bytes()),
  lifespans: call(() => s.lifespans()),
  policies: call(() => s.policies()),
  saveCache: call(() => s.saveCache(path)),
  differenceFrom: call(() => s.differenceFrom(path), { before: () => { saved = saved || s.saveCache(path); } }),
  saveCapture: call(() => s.saveCapture(path)),
  startCapture: call(() => s.startCapture(path), { after: () => s.stopCapture() }),
  stopCapture: call(() => s.stopCapture(), { before: () => s.startCapture(path) }),
  "table rows": call(() => s.rows(0)),
  "table ledger": call(() => s.ledger(id)),
  "table ticks": call(() => s.ticks({ limit: 10 })),
  "table story": call(() => s.story(id, 0)),
  "table invariants": call(() => s.invariants()),
};
/** What a plain session of one branch cannot be asked, or what cannot be undone. */
const left = {
  reset: "ends the history", loadCache: "ends the history", chat: "the model may have no template", at: "stands above",
  fault: "the drill is closed", bug: "the drill is closed", ring: "the layout is none", firstDifference: "needs a second branch",
  measureLifespans: "needs gates", recordLifespans: "needs gates", inject: "stands above",
};
/** Answers by the verb table. */
const tables = ["rows", "ledger", "state", "ticks", "branches", "edits", "history", "story", "reads", "breaks", "watches",
  "notes", "bugs", "facts", "invariants", "topk", "position", "remaining", "isFull", "text", "stateHash", "tokens",
  "pos2ledger", "rowsWhere", "ticksWhere", "firstTick", "lastTick", "decisions"];
const wlod = ["expand", "collapse", "refocus", "setLensScores", "speculate", "accept", "rollback", "tree"];
const named = Object.keys(calls).map((name) => name.split(" ")[0].replace(",", ""));
for (const verb of Object.keys(Object.getPrototypeOf(s)))
  expect([named, Object.keys(left), tables, wlod].some((list) => list.includes(verb)), `bench calls has no seeds of ${verb}`);

/** A measurement of half a minute stays one: no call may take longer than all others together. */
for (const [name, { before, work, after }] of Object.entries(calls)) {
  const us = [];
  for (let spent = 0; us.length < runs && (us.length < 3 || spent < 5e6); spent += us[us.length - 1]) {
    before();
    const start = performance.now();
    work();
    us.push(1000 * (performance.now() - start));
    after();
  }
  bench.row(`${model}, ${rows} rows`, name, "us", us);
}
s.close();
