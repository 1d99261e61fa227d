// SPDX-License-Identifier: Apache-2.0
// Gates A to D of semantics.md, section 7, as an experiment on the demo model, each with all five rings. A ring goes
// from one stage to the next only if every check of the gate before passed.
//   A  what a window holds is the end of what a cache with that mask holds; offsets advance
//   B  quantised rows: scales stay with their rows; nothing is clipped, nothing is NaN
//   C  every ring reads what the roll reads, through every phase of a block, over 500 ticks and more, in three scenes,
//      edits among them; in steady state no allocation is made, and every tick makes the same calls of the same sizes
//   D  reads of the tail alone give the same as reads of the whole window
// kvlab run resources/scripts/ring_gates.js [--backend cuda] [-- WINDOW]

const window = Number(args[0] || 96);
const scenes = [
  "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower . ",
  "the wind blows all night . the wind blows all night . the wind blows all night . ",
  "ben leaves the old map in the tower . clara takes the red book to the garden . anna puts the silver key in the attic . ",
];
const rings = ["ring_roll", "ring_pointer", "ring_lut", "ring_block_roll", "ring_fused"];
const table = [];
const check = (gate, what, ok, detail = "") => {
  table.push({ gate, what, ok, detail });
  expect(ok, `gate ${gate}: ${what} ${detail}`);
};
const open = (layout, more = {}) =>
  lab.open(Object.assign({ model: "demo", layout, ring: { window }, staging: 32, prefill_chunk: 32, history_bytes: 0, guards: true,
                           sampling: { temperature: 0.8, seed: 3 } }, more));
const openAll = (more) => open("contiguous_splice", Object.assign({ layers: [{ match: "0-3", window }] }, more));
const sound = (s) => s.invariants().every((i) => i.ok);
/** The newest rows of a layer, each as its ledger id and the checksum of its bytes. */
const newest = (s, layer) => s.rows(layer, Math.max(0, s.length - window)).map((r) => r.ledger + " " + r.checksum).join();
const sameWindow = (a, b) => [0, 1, 2, 3].every((layer) => newest(a, layer) === newest(b, layer)) && a.logits().join() === b.logits().join();

// Rings against a cache that keeps all rows behind the same mask: concatenate, and look at the end.
{
  const all = openAll(), lanes = rings.map((layout) => open(layout));
  for (const s of [all, ...lanes]) s.prompt(scenes[0]);
  const offsets = lanes.map((s) => s.ring(0).offset);
  let advances = true, equal = true;
  for (let i = 0; i < 2 * window; ++i) {
    for (const s of [all, ...lanes]) s.step();
    lanes.forEach((s, l) => {
      const ring = s.ring(0);
      advances = advances && ring.offset === ++offsets[l] && ring.filled === Math.min(window, ring.offset);
    });
    if (i % 16 === 0) equal = equal && lanes.every((s) => sameWindow(s, all));
  }
  check("A", "every window of every ring equals the end of a cache that keeps all, bit for bit", equal && lanes.every((s) => sameWindow(s, all)));
  check("A", "offsets advance by the tokens written, rows never exceed the window", advances, `offset ${offsets[0]}`);
  check("A", "maps name the rows that are there, and no others", lanes.every((s) => s.pos2ledger(0).join() === s.rows(0).map((r) => r.ledger).join()));
  check("A", "pools are at most two windows", lanes.every((s) => s.ring(0).capacity <= 2 * window), `${lanes[0].ring(0).capacity} slots`);
  const drifts = lanes.map((s) => s.drift());
  check("A", "a rebuild of the window drifts by nothing", drifts.every((d) => Math.max(...d.k, ...d.v) === 0), `kl ${drifts[0].kl}`);
  check("A", "all invariants hold", lanes.every(sound));
  for (const s of [all, ...lanes]) s.close();
}

// Quantised rows through the same rings.
for (const kv of [{ k: "bf16", v: "int8" }, { k: "int8", v: "int8" }, { k: "f16", v: "fp8-e4m3" }]) {
  const name = `K ${kv.k}, V ${kv.v}`;
  const all = openAll({ kv }), lanes = rings.map((layout) => open(layout, { kv }));
  for (const s of [all, ...lanes]) s.prompt(scenes[0]), s.step(window + 40);
  check("B", `${name}: codes and scales move together`, lanes.every((s) => sameWindow(s, all) && sound(s)));
  let clipped = 0, nonFinite = 0, worst = 0;
  for (const s of lanes)
    s.quantisation().forEach((layer, l) => {
      const counts = s.storage(l).counts;
      clipped += counts.k.clipped + counts.v.clipped;
      nonFinite += counts.k.nonFinite + counts.v.nonFinite;
      worst = Math.max(worst, layer.k.worst, layer.v.worst);
    });
  check("B", `${name}: nothing clipped, nothing NaN`, clipped === 0 && nonFinite === 0);
  check("B", `${name}: rows read back within the step of their type`, worst < (kv.v === "fp8-e4m3" ? 0.08 : 0.03), `worst row ${worst.toFixed(4)}`);
  for (const s of [all, ...lanes]) s.close();
}

/** The calls of a tick, up to its checks: what runs, in which layer, over how many bytes. */
const callsOf = (report) => {
  const end = report.events.findIndex((e) => e.depth === 0 && e.name === "verify");
  return report.events.slice(0, end < 0 ? undefined : end).filter((e) => e.depth >= 3).map((e) => `${e.name} ${e.layer} ${e.bytes}`).join();
};

// Every ring in lockstep with the roll: blocks, wraps at every phase, edits and trims in a wrapped ring.
[1, 4, 7].forEach((block, scene) => {
  const kv = { k: "f16", v: "int8" };
  const lanes = rings.map((layout) => open(layout, { kv, ring: { window, block_tokens: block } }));
  for (const s of lanes) s.prompt(scenes[scene]);
  const ticks = Math.ceil((block === 1 ? 520 : 2 * window) / block);
  const phases = new Set();
  let equal = true, held = true, steady = null;
  for (let i = 0; i < ticks; ++i) {
    for (const s of lanes) s.step();
    phases.add(lanes[1].ring(0).pointer);
    if (i === Math.floor(ticks / 3) || i === Math.floor(ticks / 2)) {
      const last = lanes[0].length - 1;
      const list = [{ action: "delete", position: last }, { action: "replace", positions: [last - 20, last - 19], new_token_ids: lanes[0].tokenise("attic") },
                    { action: "insert", position: last - 30, token_ids: lanes[0].tokenise("night") }];
      for (const s of lanes) s.inject(list), s.apply();
    }
    if (i === Math.floor(ticks * 2 / 3)) steady = lanes.map((s) => s.bytes());
    if (i % 20 === 0) {
      const hash = lanes[0].stateHash();
      equal = equal && lanes.every((s) => s.stateHash() === hash);
      held = held && lanes.every(sound);
    }
  }
  const now = lanes.map((s) => s.bytes());
  const hash = lanes[0].stateHash();
  check("C", `blocks of ${block}: all rings equal the roll for ${ticks} ticks`, equal && lanes.every((s) => s.stateHash() === hash), `${phases.size} pointer positions`);
  check("C", `blocks of ${block}: pointer, scale and tag rules held throughout`, held && lanes.every(sound), `${lanes[1].ring(0).wraps} wraps`);
  const grown = (count) => rings.filter((_, i) => now[i][count] !== steady[i][count]);
  check("C", `blocks of ${block}: no allocation in steady state`, grown("allocations").length === 0, grown("allocations").join(" "));
  if (now.some((b) => b.captures > 0))
    check("C", `blocks of ${block}: no graph capture in steady state`, grown("captures").length === 0, grown("captures").join(" "));
  if (block === 1) {
    const moved = (layout) => lanes[rings.indexOf(layout)].bytes().moved;
    check("C", "a pointer moves no row at a commit, a roll the whole window", moved("ring_pointer") === 0 && moved("ring_roll") > 0,
          `${moved("ring_roll")} bytes rolled, ${lanes[1].storage(0).readBytes} assembled per read and layer`);
  }
  const shapes = lanes.map((s) => {  // once round the ring, and a wrap among them
    s.settings({ op_events: true });
    const wraps = s.ring(0).wraps, calls = new Set();
    for (let i = 0; i <= s.ring(0).capacity / block; ++i) calls.add(callsOf(s.step()[0]));
    return s.ring(0).wraps > wraps && !calls.has("") ? calls.size : 0;
  });
  check("C", `blocks of ${block}: every tick makes the same calls of the same sizes, wrapped or not`, shapes.every((n) => n === 1), shapes.join(" "));
  for (const s of lanes) s.close();
});

// Masks that let through half of the ring's rows: tail-only copies hold that half.
{
  const layers = [{ match: "0-1", window: Math.floor(window / 2) }];
  const copies = ["ring_pointer", "ring_lut", "ring_block_roll"];
  const whole = rings.map((layout) => open(layout, { layers })), tails = rings.map((layout) => open(layout, { layers, ring: { window, tail_only: true } }));
  for (const s of [...whole, ...tails]) s.prompt(scenes[0]), s.step(2 * window);
  const hash = whole[0].stateHash();
  check("D", "tail-only reads change no bit", [...whole, ...tails].every((s) => s.stateHash() === hash));
  rings.forEach((layout, i) => {
    const all = whole[i].storage(0), tail = tails[i].storage(0), other = tails[i].storage(2);
    if (copies.includes(layout))
      check("D", `${layout}: a tail-only copy holds no more than the mask lets through`, tail.readBytes > 0 && tail.readBytes * 2 <= all.readBytes + all.stride * 2,
            `${tail.readBytes} of ${all.readBytes} bytes`);
    else check("D", `${layout}: no copy is made`, tail.readBytes === 0 && all.readBytes === 0);
    check("D", `${layout}: layers without that mask read the whole window`, other.readBytes === whole[i].storage(2).readBytes);
  });
  for (const s of [...whole, ...tails]) s.close();
}

log("gate  result  check");
for (const row of table) log(`${row.gate}     ${row.ok ? "pass" : "FAIL"}    ${row.what}${row.detail ? " (" + row.detail + ")" : ""}`);
for (const gate of ["A", "B", "C", "D"]) log(`gate ${gate}: ${table.filter((r) => r.gate === gate).every((r) => r.ok) ? "passed" : "FAILED"}`);
