// SPDX-License-Identifier: GPL-3.0-or-later
// s.at(tick): answers of that tick, a fork that goes on from there, and refusals.
const s = lab.open({ model: "demo" });
s.prompt("anna puts the silver key in the cellar .");
s.step({ n: 3 });
const tick = s.tick, text = s.text(), rows = s.rows(1);
s.inject({ action: "delete", position: 2 }, { now: true });
s.step({ n: 2 });
const then = s.at(tick);
expect(then.text() === text && then.tick === tick, "the text of then");
expectNear(then.rows(1), rows);
expect(s.at(tick).stateHash() !== s.stateHash(), "another state");
expect(s.at(s.tick).text() === s.text(), "the present tick");
const fork = then.fork();
expect(fork.text() === text && fork.tick === tick, "a fork in the state of then");
fork.step();
expect(fork.tick === tick + 1 && s.tick === tick + 3, "the fork goes on alone");
for (const refused of [() => then.step(), () => then.close(), () => then.show(), () => then.goto(0)])
  expectError(refused, "not_a_query");
expectError(() => s.at(99), "out_of_range");
expectError(() => s.at(), "bad_argument");
expectError(() => s.at("x"), "bad_argument");
expectError(() => then.at(1).text(), "not_a_query");
expect(s.value("changed(length)") === true && s.value("rows(layer==0)") === s.length, "values");
expect(s.at(tick).value("length") === then.length, "a value of then");
