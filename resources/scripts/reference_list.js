// SPDX-License-Identifier: Apache-2.0
// The reference list of semantics.md, section 3: two replaced pairs and one added token on 862 rows, as one list, under both
// executors. Shows that cache and mirror stay in step, and the drift.

const filler = ["the rain falls again .", "a cat sleeps all day .", "the moon shines again .", "gus drinks hot tea .",
  "a dog barks at dawn .", "lena hums a tune .", "the wind blows all night .", "otto likes warm bread ."];
const words = "anna puts the silver key in the cellar . ".concat(...Array.from({ length: 170 }, (_, i) => filler[i % filler.length] + " "));

function walk(executor) {
  const s = lab.open({ model: "demo", executor });
  const ids = s.tokenise(words).slice(0, 862);
  expect(ids.length === 862, "the text is long enough");
  s.promptIds(ids);
  expect(s.length === 862);

  const one = s.tokenise("attic"), other = s.tokenise("barn"), added = s.tokenise("where")[0];
  const list = [
    { action: "replace_pair", original_pos1: 48, original_pos2: 49, new_token_ids: one },
    { action: "replace_pair", original_pos1: 61, original_pos2: 62, new_token_ids: other },
    { action: "add", token_id: added },
  ];
  const plan = s.plan(list);
  expect(plan.lengthAfter === 861, "862 - 2 + 1 = 861");
  log(`${executor}: final positions ${plan.actions.map((a) => a.finalPosition).join(", ")}; ` +
    `new ledger ids ${plan.actions.map((a) => a.newLedger.join(" ")).join(", ")}`);

  s.inject(list);
  const report = s.apply();
  expect(report.ok && report.violations.length === 0);
  expect(s.length === 861);

  const wanted = ids.slice(0, 48).concat(one, ids.slice(50, 61), other, ids.slice(63), [added]);
  expectNear(s.tokens(), wanted, {}, "the ids are the edited list");
  const mirror = s.pos2ledger();
  expect(mirror[48] === 862 && mirror[60] === 863 && mirror[860] === 864, "new ledger ids ascend with the position");

  for (const layer of [0, 3]) {
    const rows = s.rows(layer);
    expectNear(rows.map((r) => r.ledger), mirror, {}, `layer ${layer} follows the mirror`);
    rows.forEach((r, i) => expect(i === 0 || r.phase > rows[i - 1].phase, `phases increase at ${i}`));
    expect(rows[860].phase < s.length, "the next phase is above all");
  }
  expectNear(s.ledger(862).parents, [48, 49], {}, "the pair's successor names its parents");
  expect(s.ledger(48).state === "replaced" && s.ledger(48).children[0] === 862);
  expect(s.invariants().every((i) => i.ok), "every invariant holds");

  const drift = s.drift();
  expect(drift.k[0] === 0 && drift.v[0] === 0, "layer 0 equals a rebuild");
  log(`${executor}: drift of V by layer ${drift.v.map((x) => x.toFixed(4)).join(" ")}, KL ${drift.kl.toExponential(2)}`);

  s.rebuild();
  const after = s.drift();
  expect(Math.max(...after.k, ...after.v, after.kl) === 0, "nothing drifts after a rebuild");
  return { tokens: s.tokens(), mirror: s.pos2ledger(), hash: s.stateHash(), session: s };
}

const batch = walk("batch"), descending = walk("descending");
expectNear(batch.tokens, descending.tokens, {}, "both executors end in the same context");
expectNear(batch.mirror, descending.mirror, {}, "and in the same ledger");

batch.session.show();
view.focus({ layer: 0, row: 48 });
view.screenshot("mirror", "reference-list-mirror.png", { width: 640, height: 720 });
log("reference list: both executors agree");
