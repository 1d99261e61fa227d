// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes from a script: separate sessions bit for bit, figures that can be checked by hand, a lane that leaves.
const base = { model: "synthetic:tiny", backend: "cpu", capacity: 128, history_bytes: 1 << 22 };
const changes = [{ layout: "ring_fused", ring: { window: 12 } }, { kv: { k: "int8", v: "int8" } }, { capacity: 30 }];
const ids = Array.from({ length: 24 }, (_, i) => (i * 37) % 200 + 3);

const s = lab.open(base);
const lanes = lab.lanes(s, changes, { needles: [] });
expect(lanes.size === 4);
lanes.prefill(ids.slice(0, 10), { last: false });
lanes.prefill(ids.slice(10));
lanes.endPrefill();
lanes.needles([0, 23]);
const ticks = lanes.step(4);
expect(ticks.length === 4 && ticks.every((t) => t.ok && t.together && t.lanes.length === 4 && t.tokens.length === 1));

// The tokens are lane 0's, and every lane equals a session alone.
const alone = [base].concat(changes.map((c) => Object.assign({}, base, c))).map((m) => lab.open(m));
alone.forEach((one, i) => {
  one.promptIds(ids.slice(0, 10));
  one.promptIds(ids.slice(10));
  if (i === 0) one.step(4);
  else one.step(4, { tokens: ticks.map((t) => t.token) });
  expect(lanes.session(i).stateHash() === one.stateHash(), `lane ${i} is not what it would be alone`);
  expectNear(lanes.session(i).logits(), one.logits());
});
expect(s.length === 0, "the origin was touched");

// Weights are read once, whoever counts.
const apart = lab.lanes(s, changes, { together: false });
apart.promptIds(ids);
const single = apart.step()[0];
expect(!single.together && single.apart.length > 0);
expect(single.weightBytes === 4 * ticks[3].weightBytes, "four lanes apart read the weights four times");
apart.close();
expectError(() => apart.report(), "closed_session");

const report = lanes.report();
expect(report.map((r) => r.lane).join() === "0,1,2,3");
expect(report[0].kl === 0 && report[0].dnll === 0 && report[0].top1 === 1 && report[0].massKept === 1 && report[0].overlap === 1);
expectNear(report[1].layers.overlap, report[1].layers.overlap.map(() => 12 / 28));
expectNear(report[1].layers.needles, report[1].layers.needles.map(() => 0.5));
expectNear(report[1].bytes / report[0].bytes, 12 / 28);
expect(report[1].kl > report[2].kl && report[2].kl > 0 && report[2].bytes < report[0].bytes);
expect(report.every((r) => r.inStep && r.ticks === 4 && r.us > 0));
expect(report[3].kl === 0);

// The error of attention is measured on demand: the ring has lost rows, int8 rounds more than bf16.
expect(report.every((r) => r.attentionError === null));
lanes.show();
view.command("attention_error");
const errors = lanes.report().map((r) => r.attentionError);
expect(errors[1] > errors[0] && errors[2] > errors[0] && errors[3] === errors[0], `the errors are ${errors}`);

// A call that only asks, or changes rows, keeps a lane in step; the third runs out of room and leaves.
lanes.session(2).evict(1, [4, 5], { now: true });
expect(lanes.report()[2].inStep && lanes.report()[2].layers.overlap[1] < 1);
const more = lanes.step(4);
expect(more.length === 4 && more.every((t) => t.ok));
const left = lanes.report()[3];
expect(!left.inStep && left.error.code && left.exitTick > 0, "a full lane leaves");
expect(more[3].lanes[3].stepped === false && more[3].lanes[0].stepped);
lanes.session(2).step();
expect(!lanes.report()[2].inStep && lanes.report()[1].inStep);
expect(lanes.session(1).fork().length === 32, "a lane goes on as a session of its own");

// Calls that must fail.
expectError(() => lab.lanes(s, [{ model: "demo" }]), "lane_differs");
expectError(() => lab.lanes(s, [{ nonsense: 1 }]), "bad_manifest");
expectError(() => lab.lanes(s), "bad_argument");
expectError(() => lab.lanes(7, []), "bad_argument");
expectError(() => lanes.session(9), "bad_argument");
expectError(() => lanes.session(0).close(), "in_lockstep");
expectError(() => lanes.step(0), "bad_argument");
expectError(() => lanes.needles([4096]), "bad_argument");
lanes.close();
expectError(() => lanes.step(), "closed_session");
