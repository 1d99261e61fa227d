// SPDX-License-Identifier: Apache-2.0
// The guided tour: what a cache remembers, what an edit does to it, and how to tell. Run from
// Help > Tour, or headless: kvlab run tour.js --out DIR writes a picture per stop.
const story = "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower . " +
  "dora waits in the garden . a cat sleeps all day . carl hides the gold ring in the barn . emil sits in the kitchen . " +
  "fay thinks of the red lamp . the rain falls again . gus drinks hot tea .";
const question = "where is the silver key ?";
let stop = 0;

function show(caption, what) {
  view.caption(caption);
  ++stop;
  view.screenshot(what || "window", `tour_${String(stop).padStart(2, "0")}_${what || "window"}.png`);
}
/** The model's next words, without keeping them. */
function answer(s, words) {
  const tick = s.tick;
  s.prompt(question);
  const text = s.step(words).map((report) => report.text).join("").trim();
  s.goto(tick);
  return text;
}

const s = lab.open({ model: "demo" });
s.show();
s.prompt(story);
show("A session is alive: the model has read a story. Each column is a token, each row a layer.");

s.prompt(question);
s.step(6);
show("Six ticks later it has answered. Tokens that nobody looks at grow dim.");
view.focus({ layer: s.rows(0).length ? 3 : 0, row: 9 });
show("One focus for all views: this is the word that the answer came from.", "map");
s.goto(1);

const place = s.tokens().indexOf(s.tokenise("cellar")[0]);
log("before the edit: " + answer(s, 6));
s.inject([{ action: "replace", positions: [place], new_token_ids: s.tokenise("attic") }]);
s.apply();
const drift = s.drift();
show("The word was replaced in the cache and in the mirror, by one operation. Later rows are stale now.");
log("rows kept: " + answer(s, 6));
log("drift of V by layer: " + drift.v.map((v) => v.toFixed(3)).join(" "));
show("The mirror: position, ledger row and physical slot, line by line.", "mirror");

s.rebuild();
show("A rebuild computes every row anew: drift is zero and the answer follows the edit.");
log("after a rebuild: " + answer(s, 6));
expect(s.drift().kl === 0, "a rebuild leaves no drift");

s.undo();
s.undo();
show("Undo takes back both, rows included. The ledger still knows every token there ever was.", "ledger");
show("What must always hold is checked every tick.", "invariants");
view.caption("");
