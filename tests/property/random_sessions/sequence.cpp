// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/sequence.h"

#include <fstream>

namespace kvlab::random_sessions {
namespace {

Error badSequence(const std::string& why) {
  return Error("bad_sequence", "the sequence was refused", why, "see sequence.h for the format");
}

}  // namespace

json toJson(const Step& step) {
  json line = json::array();
  if (step.reads) line.push_back("#ro");
  line.push_back(step.verb);
  if (step.own()) line.push_back(step.args);
  else if (step.args.is_array())
    for (const json& value : step.args) line.push_back(value);
  return line;
}

Result<Step> stepFromJson(const json& line) {
  const std::size_t from = line.is_array() && !line.empty() && line[0] == "#ro" ? 1 : 0;
  if (!line.is_array() || line.size() <= from || !line[from].is_string()) return badSequence(line.dump());
  Step step{line[from], json::object(), from == 1};
  if (step.verb.empty()) return badSequence("a verb without a name");
  if (step.own() && line.size() > from + 1) step.args = line[from + 1];
  if (!step.own()) step.args = json(line.begin() + 1, line.end());
  return step;
}

std::string textOf(const Sequence& sequence) {
  std::string out = sequence.manifest.dump() + "\n";
  for (const Step& step : sequence.steps) out += toJson(step).dump() + "\n";
  return out;
}

Result<Sequence> readSequence(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error("bad_file", "the sequence was not read", path + " cannot be opened", "check the path");
  Sequence out;
  std::string text;
  while (std::getline(file, text)) {
    const json line = json::parse(text, nullptr, false);
    if (line.is_discarded()) return badSequence(path + ": " + text);
    if (out.manifest.is_null()) {
      out.manifest = line;
      continue;
    }
    Result<Step> step = stepFromJson(line);
    if (!step) return step.error();
    out.steps.push_back(step.take());
  }
  return out;
}

bool writeSequence(const std::string& path, const Sequence& sequence) {
  std::ofstream file(path);
  file << textOf(sequence);
  return static_cast<bool>(file.flush());
}

}  // namespace kvlab::random_sessions
