// SPDX-License-Identifier: Apache-2.0
// A replaced token, as the map, the token strip and the mirror show it. Done by hand: a click, a word, a key.
const story = "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower .";
let s;

before(() => {
  s = lab.open({ model: "demo" });
  s.prompt(story);
  view.size(1280, 800);
  view.set("map", { quantity: "brightness" });
});
after(() => s.close());

const cellar = () => s.tokens().indexOf(s.tokenise("cellar")[0]);
function replaceByHand() {
  view.show("strip");
  view.focus({ layer: 0, row: cellar() });
  view.keys("strip", "Return");
  view.type("strip", "attic\n");
}

test("a token is replaced in the strip by hand", () => {
  const place = cellar();
  replaceByHand();
  expect(s.tokens()[place] === s.tokenise("attic")[0], "the context has the new token");
  expectDump("strip", "expected/strip-replaced.txt");
  expectImage("strip", "expected/strip-replaced.png", { width: 900, height: 160 });
});

test("Ctrl+Z takes the edit back", () => {
  const hash = s.stateHash();
  replaceByHand();
  expect(s.stateHash() !== hash, "the edit has changed the session");
  view.keys("strip", "Ctrl+Z");
  expect(s.stateHash() === hash, "undo brings the state back");
});

test("the map shows the rows that an edit made stale", () => {
  replaceByHand();
  view.set("map", { quantity: "staleness" });
  expectImage("map", "expected/map-stale.png", { width: 900, height: 300 });
  expectDump("map", "expected/map-stale.txt");
});

test("a dragged range is deleted with a key", () => {
  const length = s.length;
  view.show("strip");
  view.drag("strip", [100, 52], [260, 52]);
  expectImage("strip", "expected/strip-selected.png", { rect: [0, 40, 500, 60] });
  view.keys("strip", "Delete");
  expect(s.length < length, "rows have left the context");
  expectDump(s.tokens(), "expected/tokens-deleted.json");
});
