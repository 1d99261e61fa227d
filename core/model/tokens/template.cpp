// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/steps.h"

#include <algorithm>

#include "core/model/tokens/merges.h"

namespace kvlab::bpe {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxAround = 256;

/// special_tokens: {name: {ids: [..]}}
Status appendSpecial(const JsonFields& step, const std::string& name, std::vector<std::int32_t>& out) {
  const json* ids = nullptr;
  if (step.has("special_tokens") && step.json().at("special_tokens").is_object())
    if (const auto& all = step.json().at("special_tokens"); all.contains(name) && all[name].is_object())
      if (all[name].contains("ids") && all[name]["ids"].is_array()) ids = &all[name]["ids"];
  if (!ids) return step.bad("special_tokens", "has no ids of \"" + name + "\"");
  for (const json& id : *ids) {
    if (!id.is_number_integer() || id < 0 || id >= BpeModel::kMaxId)
      return step.bad("special_tokens", "has a bad id of \"" + name + "\"");
    out.push_back(id.get<std::int32_t>());
  }
  if (out.size() > kMaxAround) return step.bad("special_tokens", "adds too many tokens");
  return ok();
}

Result<Surround> fromTemplate(const JsonFields& step) {
  if (!step.has("single") || !step.json().at("single").is_array()) return step.bad("single", "is not a list");
  Surround out;
  bool inside = false;
  for (const json& item : step.json().at("single")) {
    if (item.is_object() && item.contains("Sequence")) {
      if (inside) return step.bad("single", "has the text twice");
      inside = true;
      continue;
    }
    if (!item.is_object() || !item.contains("SpecialToken") || !item["SpecialToken"].is_object())
      return step.bad("single", "has something that is neither Sequence nor SpecialToken");
    const auto name = KV_TRY(step.inside(item["SpecialToken"]).text("id"));
    KV_TRY(appendSpecial(step, name, inside ? out.after : out.before));
  }
  if (!inside) return step.bad("single", "leaves the text out");
  return out;
}

/// Later processors surround what earlier ones made.
Result<Surround> fromSequence(const JsonFields& step) {
  const auto all = KV_TRY(readSteps<Surround>(step, "processors", surroundFromJson));
  Surround out;
  for (const Surround& one : all) {
    out.before.insert(out.before.begin(), one.before.begin(), one.before.end());
    out.after.insert(out.after.end(), one.after.begin(), one.after.end());
    if (std::max(out.before.size(), out.after.size()) > kMaxAround)
      return step.bad("processors", "add too many tokens");
  }
  return out;
}

}  // namespace

Result<Surround> surroundFromJson(const JsonFields& step) {
  const auto type = KV_TRY(step.text("type"));
  if (type == "TemplateProcessing") return fromTemplate(step);
  if (type == "Sequence") return fromSequence(step);
  if (type == "ByteLevel") return Surround();
  return step.bad("type", "is a post-processor that is not implemented", "use another tokenizer");
}

}  // namespace kvlab::bpe
