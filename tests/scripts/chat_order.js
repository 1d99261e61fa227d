// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of messages come out of a template in the order in which a script writes them, at every depth. The texts are those
// of transformers' apply_chat_template.
const messages = [
  { role: "user", content: "Book it." },
  { role: "assistant", content: "", tool_calls: [{ type: "function", function: { name: "book", arguments: {
    train: "IC 7", day: "Monday", seats: 2, class: { wagon: 3, area: "quiet" } } } }] },
];
const call = '{"name": "book", "arguments": {"train": "IC 7", "day": "Monday", "seats": 2, "class": {"wagon": 3, "area": "quiet"}}}';
const cases = {
  "{{ messages[1].tool_calls[0].function | tojson }}": call,
  "{% for k in messages[1] %}{{ k }} {% endfor %}": "role content tool_calls ",
  "{% for k, v in messages[1].tool_calls[0].function.arguments | items %}{{ k }} {% endfor %}": "train day seats class ",
  "{% for k, v in messages[1].tool_calls[0].function.arguments.items() %}{{ k }} {% endfor %}": "train day seats class ",
  "{{ messages[1].tool_calls[0].function.arguments.keys() | list | join(',') }}": "train,day,seats,class",
  "{{ messages[1].tool_calls[0].function.arguments.class }}": "{'wagon': 3, 'area': 'quiet'}",
  "{% set m = messages[0] %}{{ m | string }}": "{'role': 'user', 'content': 'Book it.'}",
};
const expect = (is, right) => { if (is !== right) throw new Error(`${is} instead of ${right}`); };
for (const [template, right] of Object.entries(cases)) {
  const open = () => lab.open({ model: "synthetic:tiny", capacity: 512 }), rest = { template, addGenerationPrompt: false };
  expect(open().chat(messages, rest).text, right);
  expect(open().chat(Object.assign({ messages }, rest)).text, right);
  expect(open().chat(messages.map((m) => JSON.stringify(m)), rest).text, right);
  const lanes = lab.lanes(open(), [{ capacity: 256 }]);
  lanes.chat(messages, rest);
  expect(lanes.session(1).text(), right);
}
log(Object.keys(cases).length, "templates");
