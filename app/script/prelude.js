// SPDX-License-Identifier: GPL-3.0-or-later
// The script language's globals, over the native `host`. Runs once per engine, before any script.
// Every native call takes and returns JSON text: {value} or {error}. Errors are thrown with the
// place of the first caller outside this file.
(function (host, fileName, global) {
  "use strict";

  // A value that JSON cannot write goes as a text, which is then refused: JSON.stringify would make it null,
  // and null means left out.
  const speechless = (v) => typeof v === "function" || typeof v === "symbol" || (typeof v === "number" && !Number.isFinite(v));
  const pack = (value, indent) => JSON.stringify(value === undefined ? null : value,
    (key, v) => (ArrayBuffer.isView(v) ? Array.from(v, (x) => (speechless(x) ? String(x) : x)) : speechless(v) ? String(v) : v), indent);

  // The first stack frame that is not ours: {file, line}.
  function caller(stack) {
    for (const frame of String(stack).split("\n")) {
      const text = frame.trim().replace(/^at (?:.*\()?([^()]*)\)?$/, "$1");  // QuickJS: at NAME (FILE:LINE:COLUMN)
      const place = /@?(?:file:)?([^@]*?):(-?\d+)(?::-?\d+)?$/.exec(text);
      if (place && !place[1].endsWith(fileName) && Number(place[2]) > 0)
        return { file: place[1].replace(/^\/\/(?=\/)/, ""), line: Number(place[2]) };
    }
    return { file: "", line: 0 };
  }

  function fail(error) {
    const text = [error.what, error.why].filter(Boolean).join(": ") +
      (error.remedy ? "; " + error.remedy : "");
    const thrown = new Error(text);
    const place = caller(thrown.stack);
    Object.assign(thrown, error, { file: place.file, line: place.line });
    throw thrown;
  }

  // Qt's parser of JSON ends the program at an array of half a million elements, which takes twice as many letters.
  const parseShort = JSON.parse;
  JSON.parse = (text, reviver) => {
    const whole = String(text);
    if (whole.length < 1000000) return parseShort(whole, reviver);
    const value = host.parse(whole);
    if (value === undefined) throw new SyntaxError("JSON.parse: Parse error");
    if (typeof reviver !== "function") return value;
    return fail({ code: "bad_argument", what: "the text was not parsed", why: `it has ${whole.length} letters, and a reviver was given`,
      remedy: "parse it without a reviver, and change the value behind that" });
  };

  // `refuses` says of the code of an error whether a model, a file or a back end was refused.
  function native(text, refuses) {
    const answer = JSON.parse(text);
    if (answer.error) fail(refuses ? Object.assign(answer.error, { refused: refuses(answer.error.code) }) : answer.error);
    return answer.value;
  }

  const isOptions = (v) => v !== null && typeof v === "object" && !Array.isArray(v) && !ArrayBuffer.isView(v);

  // Positional arguments to named ones; a plain object as the last one holds further named ones.
  function named(verb, names, given) {
    const args = {};
    given.forEach((value, i) => {
      if (value === undefined) return;
      const name = names[i];
      if (name === "actions" && isOptions(value)) args[name] = [value];
      else if (i === given.length - 1 && isOptions(value)) Object.assign(args, value);
      else if (name !== undefined) args[name] = value;
      else fail({ code: "bad_argument", what: `${verb} was not called`,
        why: `it takes ${names.length} arguments, not ${given.length}`,
        remedy: `call ${verb}(${names.join(", ")})`, field: "arguments", value: given.length });
    });
    if (Array.isArray(args.messages)) args.messages = args.messages.map((m) => (isOptions(m) ? pack(m) : m));  // a text keeps the order of keys
    return args;
  }

  class Session {
    constructor(handle) { Object.defineProperty(this, "handle", { value: handle }); }
    get tick() { return stateOf(this, "tick"); }
    get length() { return stateOf(this, "length"); }
    /** Shows this session in the window. */
    show() { native(host.show(this.handle)); return this; }
    /** A second live session in the present state; the two share nothing but the model. */
    fork() { return new Session(native(host.fork(this.handle))); }
    /** The session as it was after another tick, to be read and measured. */
    at(tick, options = {}) { return new Past(this, { tick, branch: options.branch }); }
    close() { native(host.close(this.handle)); }
  }
  // Sends a verb to the session; lanes and sequences send theirs in another way.
  Object.defineProperty(Session.prototype, "verb", { value(name, args) { return native(host.call(this.handle, name, pack(args))); } });
  // A method that the lists of names have.
  const method = (name, value) => Object.defineProperty(Session.prototype, name, { enumerable: true, configurable: true, value });
  const table = JSON.parse(host.verbs());
  const argsOf = (name) => { const verb = table.find((one) => one.name === name); return verb ? verb.args : []; };
  for (const verb of table) {
    if (verb.name === "at" || verb.ofLanes) continue;
    method(verb.name, function (...given) { return this.verb(verb.name, named(verb.name, verb.args, given)); });
  }
  // Each table by its name: its rows as objects, all of them unless `limit` is given. Arguments that the table does not
  // take go to the verb `table`.
  function recordsOf(session, call) {
    const rows = [];
    for (let piece = { next: call.begin || 0 }; piece.next !== null;) {
      piece = session.verb("table", Object.assign({}, call, { begin: piece.next }));
      const names = Object.keys(piece.columns);
      for (let i = 0; i < piece.rows; ++i) {
        const row = {};
        for (const name of names) row[name] = piece.columns[name][i];
        rows.push(row);
      }
      if (call.limit !== undefined) break;
    }
    return rows;
  }
  const asked = (name, args, all) => {
    const call = { name, of: {} }, shaping = argsOf("table").slice(2);
    for (const key of Object.keys(all)) (args.includes(key) || !shaping.includes(key) ? call.of : call)[key] = all[key];
    return call;
  };
  const tables = JSON.parse(host.tables());
  for (const { name, args } of tables)
    method(name, function (...given) { return recordsOf(this, asked(name, args, named(name, args, given))); });
  // Questions that are a part of a table: the names of their arguments, and the answer.
  function stateOf(session, column) {
    return session.verb("table", { name: "state", columns: [column] }).columns[column][0];
  }
  const rowOf = Session.prototype.ledger;
  const anyBreak = (session) => session.breaks().filter((one) => one.enabled && !/\bstage\b/.test(one.condition))
    .map((one) => `(${one.condition})`).join(" or ") || fail({ code: "no_breakpoint", what: "the history was not searched",
      why: "no breakpoint stands behind a tick", remedy: "set one with break, or give a condition", field: "condition", value: null });
  const tickWhere = (session, where, more) => {
    const found = session.ticks(Object.assign({ where, columns: ["tick"], limit: 1 }, more));
    return found.length === 0 ? null : found[0].tick;
  };
  const live = (session, column, where) => session.ledger({ live: true, where, columns: [column] }).map((row) => row[column]);
  const ofState = (column) => [[], (session) => stateOf(session, column)];
  const parts = {
    position: ofState("length"),
    remaining: ofState("remaining"),
    isFull: ofState("isFull"),
    text: ofState("text"),
    stateHash: ofState("stateHash"),
    tokens: [[], (session) => live(session, "tokenId")],
    pos2ledger: [["layer", "kvHead"], (session, of) => (of.layer === undefined && of.kvHead === undefined ? live(session, "id")
      : session.rows(Object.assign({ columns: ["ledger"] }, of)).map((row) => row.ledger))],
    rowsWhere: [["condition"], (session, of) => live(session, "id", of.condition)],
    ticksWhere: [["condition", "since"], (session, of) => session.ticks({ where: of.condition, since: of.since, columns: ["tick"] })
      .map((row) => row.tick).filter((tick, i, all) => tick !== all[i - 1])],
    firstTick: [["condition"], (session, of) => tickWhere(session, of.condition === undefined ? anyBreak(session) : of.condition, {})],
    lastTick: [["condition"], (session, of) => tickWhere(session,
      `not present and (${of.condition === undefined ? anyBreak(session) : of.condition})`, { newest: true })],
  };
  for (const [name, [names, answer]] of Object.entries(parts))
    method(name, function (...given) {
      const of = named(name, names, given), foreign = Object.keys(of).find((key) => !names.includes(key));
      if (foreign !== undefined)
        fail({ code: "bad_argument", what: `${name} was refused`, why: `"${foreign}" is not an argument of it`,
          remedy: `call ${name}(${names.join(", ")})`, field: foreign, value: of[foreign] });
      return answer(this, of);
    });
  // A row of the ledger by its id, or all of them.
  method("ledger", function (...given) {
    const rows = rowOf.apply(this, given);
    return given.length === 0 || (isOptions(given[0]) && given[0].id === undefined) ? rows : rows[0];
  });
  // One setting each, as scripts of before have them.
  const inLayer = (layer, keys) => (layer === undefined || layer === null ? keys : { layers: [Object.assign({ match: layer }, keys)] });
  const typesIn = ({ k, v }) => Object.assign({}, k ? { k } : {}, v ? { v } : {});
  const older = {
    setLayout: [["layout", "layer"], (a) => inLayer(a.layer, { layout: a.layout })],
    setFormat: [["k", "v", "layer"], (a) => inLayer(a.layer, { kv: typesIn(a) })],
    setPolicy: [["policy", "layer"], (a) => inLayer(a.layer, { policy: a.policy })],
    setCapacity: [["rows"], (a) => ({ capacity: a.rows })],
    setRules: [[], (a) => a],
    opEvents: [["on"], (a) => ({ op_events: a.on === undefined ? true : a.on })],
  };
  for (const [verb, [names, settings]] of Object.entries(older))
    Object.defineProperty(Session.prototype, verb, { value(...given) { return this.verb("settings", settings(named(verb, names, given))); } });
  // A session after another tick.
  class Past extends Session {
    constructor(of, where) {
      super(of.handle);
      Object.defineProperty(this, "past", { value: { of, where } });
      stateOf(this, "tick");
    }
    fork() {
      if (this.past.where.branch !== undefined) this.present("fork");
      const there = this.past.of.fork();
      there.goto(this.past.where.tick);
      return there;
    }
    show() { this.present("show"); }
    close() { this.present("close"); }
    present(what) {
      fail({ code: "not_a_query", what: `${what} was refused`, why: "another tick can only be read and measured",
        remedy: `go there, and call ${what} of the session`, field: "tick", value: this.past.where.tick });
    }
  }
  Object.defineProperty(Past.prototype, "verb", { value(name, args) { return this.past.of.verb("at", Object.assign({ verb: name, args }, this.past.where)); } });
  // One session of several: kind is "lane" or "sequence", which is also the verb that reaches it; group names all of them.
  class Member extends Session {
    constructor(handle, kind, place, group, keeping) {
      super(handle);
      Object.defineProperties(this, { [kind]: { value: place }, member: { value: { kind, place, group, keeping } } });
    }
    fork() {
      const handle = native(host.fork(this.handle));
      native(host.call(handle, this.member.keeping, pack({ [this.member.kind]: this.member.place })));
      return new Session(handle);
    }
    close() {
      const { kind, place, group } = this.member;
      fail({ code: "in_lockstep", what: `${kind} ${place} was not closed`, why: "it runs with the others",
        remedy: `close the ${group}, or leave it` });
    }
  }
  Object.defineProperty(Member.prototype, "verb", { value(name, args) {
    const { kind, place } = this.member;
    return native(host.call(this.handle, kind, pack({ [kind]: place, verb: name, args })));
  } });
  function memberOf(group, kind, place, name, keeping) {
    if (!Number.isInteger(place) || place < 0 || place >= group.size)
      fail({ code: "bad_argument", what: `the ${kind} was not taken`, why: `${print(place)} is none of the ${group.size} ${kind}s`,
        remedy: `give a ${kind} from 0 to ${group.size - 1}`, field: kind, value: place === undefined ? null : place });
    return new Member(group.handle, kind, place, name, keeping);
  }

  const groupVerb = (group, verb, given) => native(host.call(group.handle, verb, pack(named(verb, argsOf(verb), given))));
  class Lanes {
    constructor(handle) { Object.defineProperty(this, "handle", { value: handle }); }
    get size() { return this.report().length; }
    session(lane) { return memberOf(this, "lane", lane, "lanes", "lanesClose"); }
    needles(...given) { return groupVerb(this, "lanesNeedles", given); }
    /** A row per lane, the reference first. */
    report() { return groupVerb(this, "lanesReport", []); }
    /** The surprise of each lane at each token. */
    losses() { return groupVerb(this, "lanesLosses", []); }
    /** The differences between a lane and another one, lane 0 unless given. */
    difference(...given) { return groupVerb(this, "lanesDifference", given); }
    show() { native(host.show(this.handle)); return this; }
    close() { native(host.close(this.handle)); }
  }
  class Batch {
    constructor(handle) { Object.defineProperty(this, "handle", { value: handle }); }
    get size() { return this.report().length; }
    sequence(place) { return memberOf(this, "sequence", place, "batch", "batchClose"); }
    prompt(place, text) { return this.sequence(place).prompt(text); }
    prompts(...given) { return groupVerb(this, "batchPrompts", given); }
    step(...given) { return groupVerb(this, "batchStep", given); }
    text(place) { return this.sequence(place).text(); }
    /** A row per sequence. */
    report() { return groupVerb(this, "batchReport", []); }
    bytes() { return groupVerb(this, "batchBytes", []); }
    release(...given) { return groupVerb(this, "batchRelease", given); }
    show() { native(host.show(this.handle)); return this; }
    close() { native(host.close(this.handle)); }
  }
  // Verbs that all lanes run together.
  for (const verb of table) {
    if (verb.lanes !== "feeds" && verb.lanes !== "steps") continue;
    Object.defineProperty(Lanes.prototype, verb.name, { value(...given) { return groupVerb(this, verb.name, given); } });
  }

  // A fork of the session, as several: `verb` makes them of it. Returns the handle.
  function several(session, what, call, verb, args) {
    if (!(session instanceof Session))
      fail({ code: "bad_argument", what: `the ${what} not opened`, why: "the first argument is not a session",
        remedy: `call ${call}`, field: "session", value: print(session) });
    const own = session.fork();
    try {
      native(host.call(own.handle, verb, pack(args)));
    } catch (error) {
      own.close();
      throw error;
    }
    return own.handle;
  }

  global.lab = {
    /** Sessions in lockstep: the first is `session` as it is now, the others differ from it by manifest keys. */
    lanes(session, changes, options = {}) {
      return new Lanes(several(session, "lanes were", "lab.lanes(s, [{...}])", "lanesOpen", Object.assign({}, options, { lanes: changes })));
    },
    /** So many sequences that begin as `session` is now. */
    batch(session, size, options = {}) {
      return new Batch(several(session, "batch was", "lab.batch(s, 4)", "batchOpen", Object.assign({}, options, { size })));
    },
    open(manifest = {}) { return new Session(native(host.open(pack({ manifest })), () => true)); },
    openCapture(path) { return new Session(native(host.open(pack({ capture: path })), () => true)); },
    /** A cell of a sweep at the moment of an answer. */
    openCell(folder, cell, question = 0) { return new Session(native(host.open(pack({ sweep: folder, cell, question })), () => true)); },
    /** Runs a sweep (core/experiment/sweep_spec.h): an object, or the name of a file. */
    sweep(spec, options = {}) { return native(host.sweep(pack({ spec, options })), (code) => code !== "cancelled" && code !== "bad_argument"); },
    /** Text of a file; "resource:demo/story.txt" is one that comes with the program. */
    readText(path) { return native(host.readText(String(path))); },
    /** Writes a file whole or not at all; relative paths go to --out. */
    writeText(path, text) { return native(host.writeText(String(path), String(text))); },
    /** The session that the window shows, or null. */
    current() {
      const handle = native(host.current());
      return handle === null ? null : new Session(handle);
    },
  };

  const view = (op, args) => native(host.view(op, pack(args)));
  global.view = {
    show(id) { view("show", { id }); },
    focus(focus) { view("focus", focus); },
    set(id, options) { view("set", { id, options }); },
    theme(name) { view("theme", { name }); },
    size(width, height) { view("size", { width, height }); },
    click(id, x, y, options = {}) { view("click", Object.assign({}, options, { id, x, y })); },
    drag(id, from, to, options = {}) { view("drag", Object.assign({}, options, { id, from, to })); },
    keys(id, keys) { view("keys", { id, keys }); },
    type(id, text) { view("type", { id, text }); },
    freezeClock() { view("freezeClock", {}); },
    screenshot(what, path, options) { return view("screenshot", { what, path, options }); },
    dump(what) { return view("dump", { what }); },
    command(id, args = {}) { view("command", { id, args }); },
    list() { return view("list", {}); },
    caption(text) { view("caption", { text }); },
    interactive() { return view("interactive", {}); },
  };

  /** As in browsers: milliseconds since the script's engine began, to the microsecond. */
  global.performance = { now: () => host.now() };

  global.log = (...values) => host.log(values.map(print).join(" "));

  function print(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return value.message;
    if (value instanceof Lanes) return `lanes ${value.handle}`;
    if (value instanceof Batch) return `batch ${value.handle}`;
    if (value instanceof Member) return `${value.member.kind} ${value.member.place} of ${value.member.group} ${value.handle}`;
    if (value instanceof Session) return `session ${value.handle}`;
    if (value === undefined || typeof value === "function" || typeof value === "symbol") return String(value);
    return JSON.stringify(value);
  }

  const failed = (message, why) => fail({ code: "expectation_failed", what: message, why,
    remedy: "compare with what the script expects at this line" });

  global.expect = (condition, message) => {
    if (!condition) failed(message === undefined ? "an expectation failed" : String(message), "the condition is " + print(condition));
  };

  function farFrom(a, b, tolerance, path) {
    if (typeof a === "number" && typeof b === "number") {
      const allowed = Math.max(tolerance.abs || 0, (tolerance.rel || 0) * Math.max(Math.abs(a), Math.abs(b)));
      return a === b || Math.abs(a - b) <= allowed ? null
        : `${path || "value"}: ${a} and ${b} differ by ${Math.abs(a - b)}, allowed ${allowed}`;
    }
    if (a === null || b === null || typeof a !== "object" || typeof b !== "object")
      return a === b ? null : `${path || "value"}: ${print(a)} is not ${print(b)}`;
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    for (const key of keys) {
      const far = farFrom(a[key], b[key], tolerance, path ? `${path}.${key}` : key);
      if (far) return far;
    }
    return null;
  }
  global.expectNear = (a, b, tolerance = {}, message) => {
    const far = farFrom(a, b, tolerance, "");
    if (far) failed(message === undefined ? "values are not near" : String(message), far);
  };

  global.expectError = (fn, code) => {
    let thrown;
    try { fn(); } catch (error) { thrown = error; }
    if (thrown === undefined) failed(`no error, expected ${code}`, "the function returned");
    if (code !== undefined && thrown.code !== code)
      failed(`another error than ${code}`, thrown instanceof Error ? `${thrown.code || thrown.name}: ${thrown.message}` : print(thrown));
    return thrown;
  };

  global.expectImage = (what, file, options) => { view("expectImage", { what, file, options }); };
  // A text names a view; any other value is compared as JSON.
  global.expectDump = (what, file, options) => {
    const patterns = options && options.mask && [].concat(options.mask).map((one) => (one instanceof RegExp ? one.source : one));
    const subject = typeof what === "string" ? { what } : { value: pack(what, 1) + "\n" };
    view("expectDump", Object.assign(subject, { file, options: patterns ? Object.assign({}, options, { mask: patterns }) : options }));
  };

  // Tests of a file, in the order of their calls; `kvlab test` collects and runs them (app/script/script_host.cpp).
  const tests = [], around = { before: [], after: [] };
  let collecting = false;
  function collect(call, value, fn) {
    const refused = (why, remedy) => fail({ code: "bad_argument", what: `${call} was not taken`, why, remedy, field: call, value: print(value) });
    if (!collecting) refused("nothing collects tests now", "call it at the top of a file NAME.test.js, and run it with: kvlab test NAME.test.js");
    if (typeof fn !== "function") refused(`${print(fn)} is not a function`, `write ${call === "test" ? 'test("name", () => { .. })' : call + "(() => { .. })"}`);
  }
  global.test = (name, fn) => {
    collect("test", name, fn);
    const refused = (why, remedy) => fail({ code: "bad_argument", what: "test was not taken", why, remedy, field: "name", value: print(name) });
    if (typeof name !== "string" || name.trim() === "") refused(`the name is ${print(name)}`, "give each test a name");
    if (tests.some((one) => one.name === name)) refused(`two tests have the name ${print(name)}`, "give each test of a file a name of its own");
    tests.push({ name, fn });
  };
  global.before = (fn) => { collect("before", fn, fn); around.before.push(fn); };
  global.after = (fn) => { collect("after", fn, fn); around.after.push(fn); };
  // An exception of a function comes back as a value, because the host cannot tell a thrown text from a returned one.
  function attempt(functions) {
    try { functions.forEach((fn) => fn()); } catch (thrown) { return { thrown }; }
    return {};
  }

  global.args = JSON.parse(host.args());
  return {
    print,
    caller,
    collecting: (on) => { collecting = on; },
    tests: () => tests.map((one) => one.name),
    runPart: (part, index) => attempt(part === "test" ? [tests[index].fn] : around[part]),
    // The names of the language, for the test of script_api.d.ts and for completion.
    namesText: () => JSON.stringify({
      globals: ["lab", "view", "expect", "expectNear", "expectError", "expectImage", "expectDump", "test", "before", "after", "log", "args", "performance"],
      lab: Object.keys(global.lab),
      view: Object.keys(global.view),
      lanes: Object.getOwnPropertyNames(Lanes.prototype).filter((name) => name !== "constructor"),
      batch: Object.getOwnPropertyNames(Batch.prototype).filter((name) => name !== "constructor"),
      session: ["tick", "length", "show", "fork", "at", "close", "verb"].concat(Object.keys(Session.prototype)),
    }),
    console: () => Object.defineProperty(global, "s", {
      configurable: true,
      get: () => global.lab.current(),
      set: (session) => session.show(),
    }),
  };
})
