// SPDX-License-Identifier: Apache-2.0
// The same session on the CPU and on a CUDA device, bit for bit: prompt, decode, coupled edit, drift, rebuild,
// undo. If the program finds no device, it says so and proves nothing. "far" or "emulated" beside it are modules
// for tests (tests/CMakeLists.txt).
function life(backend) {
  const s = lab.open({ model: "demo", backend, history_bytes: 8 << 20 });
  const seen = [];
  s.prompt("Mia puts the red pen in the box. Tom puts the black pen in the harbor.");
  s.step(12);
  seen.push(s.stateHash());
  s.inject([{ action: "replace_pair", original_pos1: 3, original_pos2: 4, new_token_ids: [5] },
            { action: "insert", position: 9, token_ids: [7, 8] }, { action: "delete", position: 1 }]);
  s.step(4);
  seen.push(s.stateHash(), s.text(), JSON.stringify(s.drift()));
  expect(s.invariants().every((one) => one.ok), backend + ": an invariant is broken");
  s.rebuild();
  seen.push(s.stateHash());
  s.undo();
  s.undo();
  seen.push(s.stateHash());
  s.close();
  return seen;
}

const cpu = life("cpu");
let cuda = null;
try {
  cuda = life("cuda");
} catch (error) {
  if (error.code !== "no_backend") throw error;
  log("no CUDA device: " + error.why);
}
if (cuda) {
  expect(JSON.stringify(cuda) === JSON.stringify(cpu), "CPU and CUDA differ:\n" + cpu.join("\n") + "\n" + cuda.join("\n"));
  log("CPU and CUDA agree in " + cpu.length + " states");
}
