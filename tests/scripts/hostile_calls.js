// SPDX-License-Identifier: GPL-3.0-or-later
// Every function of the script language with arguments that make no sense, one wrong at a time and all at
// once. None is accepted that changes the session, none ends in anything but a proper error: a code, why,
// what to do. The engine's own checks are tested verb by verb in tests/unit/hostile_input_test.cpp.
const s = lab.open({ model: "synthetic:tiny", capacity: 64, history_bytes: 1 << 20 });
s.promptIds([5, 6, 7, 8, 9, 10]);
s.step(2);
s.inject([{ action: "delete", position: 1 }]);
const before = s.stateHash(), branches = JSON.stringify(s.branches());
const found = [];
let calls = 0;

function refuses(name, call) {
  ++calls;
  let error;
  try { call(); } catch (thrown) { error = thrown; }
  const check = (good, what) => { if (!good) found.push(`${name} ${what}: ${error}`); };
  check(error !== undefined, "was accepted");
  for (const part of error ? ["code", "what", "why", "remedy"] : [])
    check(typeof error[part] === "string" && error[part] !== "", `has no ${part}`);
  check(!error || (error.code !== "internal" && !/json.exception|std::/.test(error.why)), "speaks of its insides");
  check(!error || error.line > 0, "has no line");
  check(s.stateHash() === before, "changed the session");
}

// A right value for each argument of each function; "" stands for a text that names nothing.
const good = {
  "lab.open": [{}], "lab.openCapture": ["x.kvcap"], "lab.readText": [""], "lab.writeText": [""],
  "view.show": ["map"], "view.focus": [{ layer: 0, tick: 1, head: 0, row: 0 }], "view.set": ["map", { quantity: "age" }],
  "view.theme": ["dark"], "view.size": [800, 600],
  "view.screenshot": ["map", "x.png", { width: 100, height: 100, dpr: 1 }],
  "view.command": ["theme", { name: "dark" }], "view.caption": ["x"],
};
const wrong = [null, true, 7, -1, 1e300, 0.5, NaN, "nonsense", "", [], [1], {}, { nonsense: 1 }, "\0", 4294967616];
const kind = (v) => (v === null ? "null" : Array.isArray(v) ? "list" : typeof v);

// One argument of another type than the right one; for options, one field.
for (const [name, values] of Object.entries(good)) {
  const [home, call] = name.split(".");
  const f = { lab, view }[home][call];
  values.forEach((value, i) => {
    for (const bad of wrong) {
      if (kind(bad) === kind(value) || (Number.isNaN(bad) && kind(value) === "string")) continue;  // "NaN" is a text
      const optional = (name === "view.screenshot" && i === 2) || (name === "view.command" && i === 1);
      if (optional && bad === null) continue;
      if (name.endsWith("Text") && kind(bad) !== "string") continue;  // these make a text of anything
      refuses(`${name} ${i} ${JSON.stringify(bad)}`, () => f(...values.slice(0, i), bad, ...values.slice(i + 1)));
    }
    if (kind(value) !== "object" || name === "lab.open") return;
    for (const field of Object.keys(value))
      for (const bad of wrong.slice(1)) {  // null is one left out
        if (kind(bad) === kind(value[field]) && !(kind(bad) === "number" && [-1, 1e300, NaN, 4294967616].some((n) => Object.is(n, bad)))) continue;
        refuses(`${name} ${field} ${JSON.stringify(bad)}`,
          () => f(...values.slice(0, i), Object.assign({}, value, { [field]: bad }), ...values.slice(i + 1)));
      }
  });
}

// Right types that name nothing, or too much.
for (const bad of ["nonsense", "", "\0", "Map", "../map"]) {
  refuses(`view.show ${bad}`, () => view.show(bad));
  refuses(`view.set ${bad}`, () => view.set(bad, {}));
  refuses(`view.theme ${bad}`, () => view.theme(bad));
  refuses(`view.command ${bad}`, () => view.command(bad));
  refuses(`view.screenshot ${bad}`, () => view.screenshot(bad, "x.png"));
  refuses(`lab.open ${bad}`, () => lab.open({ model: bad }));
  refuses(`lab.openCapture ${bad}`, () => lab.openCapture(bad));
  refuses(`lab.readText ${bad}`, () => lab.readText(bad));
}
for (const [w, h] of [[0, 0], [-1, 600], [800, 1e9], [4294967616 + 800, 600], [1e300, 1e300], [0.5, 600]]) {
  refuses(`view.size ${w} ${h}`, () => view.size(w, h));
  for (const what of ["map", "window"])
    refuses(`view.screenshot ${what} ${w} ${h}`, () => view.screenshot(what, "x.png", { width: w, height: h }));
}
for (const bad of wrong.concat([{ prompts: [] }, { prompts: 3 }, { axes: {} }, { base: { model: "nonsense" }, prompts: [{ name: "a", set: {} }] }]))
  refuses(`lab.sweep ${JSON.stringify(bad)}`, () => lab.sweep(bad));
for (const bad of [3, "x", null, [], { frobnicate: 1 }, { jobs: -1 }, { jobs: 0.5 }, { out: 3 }, { resume: 1 }])
  refuses(`lab.sweep options ${JSON.stringify(bad)}`, () => lab.sweep({ prompts: [{ name: "a", set: {} }] }, bad));
refuses("view.focus frobnicate", () => view.focus({ frobnicate: 1 }));
refuses("view.focus layer", () => view.focus({ layer: 99 }));
refuses("view.set frobnicate", () => view.set("map", { frobnicate: 1 }));
refuses("view.screenshot frobnicate", () => view.screenshot("map", "x.png", { frobnicate: 1 }));
refuses("view.screenshot half a size", () => view.screenshot("map", "x.png", { width: 100 }));
for (const path of ["", "no/such/folder/\0x.png", "x.frobnicate"])
  refuses(`view.screenshot ${path}`, () => view.screenshot("map", path));
refuses("lab.writeText", () => lab.writeText("", "x"));

// Verbs through the language: too many arguments, other types than the engine's own test can send.
const verbs = Object.keys(Object.getPrototypeOf(s)).filter((name) => typeof s[name] === "function");
expect(verbs.length > 40, "hardly any verbs");
for (const verb of verbs) {
  refuses(`s.${verb} with too many`, () => s[verb](1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  refuses(`s.${verb} frobnicate`, () => s[verb]({ frobnicate: 1 }));
  refuses(`s.${verb} pending`, () => s[verb]({ pending: [] }));
}
for (const bad of [new Date(0), /x/, new Map(), [3], "3", NaN, -Infinity, () => 3, Symbol.iterator]) refuses(`s.topk ${String(bad)}`, () => s.topk({ k: bad }));
refuses("s.promptIds of holes", () => s.promptIds([5, , 6]));
refuses("s.promptIds of undefined", () => s.promptIds([undefined]));
refuses("s.promptIds of bytes", () => s.promptIds(new Int8Array([-1])));
const ring = {}; ring.ring = ring;
let circular;
try { s.promptIds(ring); } catch (error) { circular = error; }
expect(circular !== undefined, "a circular value was accepted");

// Places count in the list that was given, whatever is pending before it.
s.clearPending();
s.inject({ action: "delete", position: 2 });
const planned = s.plan([{ action: "delete", position: 4 }, { action: "insert", position: 6, token_ids: [5] }]);
expect(planned.actions.map((one) => [one.place, one.action, one.finalPosition]).join() === "0,delete,3,1,insert,4", JSON.stringify(planned.actions));
expect(expectError(() => s.plan([{ action: "delete", position: 1 }, { action: "delete", position: 9999 }])).action === 1);
s.clearPending();

expect(found.length === 0, "\n" + found.join("\n"));
expect(JSON.stringify(s.branches()) === branches);
s.step();
expect(s.invariants().every((i) => i.ok));
log(`${calls} calls refused`);
