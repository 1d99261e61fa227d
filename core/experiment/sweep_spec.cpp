// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_spec.h"

#include <algorithm>
#include <set>

#include "core/api/policy_spec.h"
#include "core/api/texts.h"
#include "core/watch/expression.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr std::int64_t kMostCells = 1'000'000;

Error badField(const std::string& key, const json& value, const std::string& why) {
  return Error("bad_sweep", "the sweep was refused", key + " " + why,
               "correct the specification; the page Sweeps of the manual lists its keys", key, value);
}

Status known(const json& object, const std::string& place, std::initializer_list<const char*> keys) {
  if (!object.is_object()) return badField(place, object, "is no object");
  const std::vector<std::string> all(keys.begin(), keys.end());
  for (const auto& [key, value] : object.items())
    if (std::find(all.begin(), all.end(), key) == all.end())
      return badField((place.empty() ? "" : place + ".") + key, value, "is not a known key" + nearestNote(key, all));
  return ok();
}

Result<std::string> textOf(const json& object, const std::string& place, const char* key,
                           std::optional<std::string> other = {}) {
  if (!object.contains(key)) return other ? Result<std::string>(*other) : badField(place + key, nullptr, "is missing");
  if (!object[key].is_string() || object[key].get<std::string>().empty())
    return badField(place + key, object[key], "is no text");
  return object[key].get<std::string>();
}

Status listOf(const json& object, const std::string& place, const char* key) {
  if (!object.contains(key)) return badField(place + key, nullptr, "is missing");
  if (!object[key].is_array() || object[key].empty())
    return badField(place + key, object[key], "is not a list with entries");
  return ok();
}

std::string shortText(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("name") && value["name"].is_string() && value.size() == 1)
    return value["name"].get<std::string>();
  return value.dump();
}

/// A change of the manifest that puts `value` at a.b.c.
json nested(const std::string& key, const json& value) {
  const auto dot = key.find('.');
  if (dot == std::string::npos) return json{{key, value}};
  return json{{key.substr(0, dot), nested(key.substr(dot + 1), value)}};
}

Status readWithout(const json& value, const std::string& place, SweepValue& out) {
  if (!value.contains("without")) return ok();
  const json& names = value["without"];
  if (!names.is_array() || names.empty()) return badField(place + ".without", names, "is not a list of axes");
  for (const json& name : names) {
    if (!name.is_string()) return badField(place + ".without", names, "is not a list of axes");
    out.without.push_back(name.get<std::string>());
  }
  return ok();
}

Result<SweepValue> readKeyValue(const json& value, const std::string& place, const std::string& key) {
  const bool labelled = value.is_object() && value.contains("value");
  if (labelled) KV_TRY(known(value, place, {"label", "value", "set", "without"}));
  const json& held = labelled ? value["value"] : value;
  std::string label =
      KV_TRY(labelled ? textOf(value, place + ".", "label", shortText(held)) : Result<std::string>(shortText(held)));
  SweepValue out{label, nested(key, held)};
  if (labelled && value.contains("set")) {
    if (!value["set"].is_object()) return badField(place + ".set", value["set"], "is no object of manifest changes");
    out.set.merge_patch(value["set"]);
  }
  if (labelled) KV_TRY(readWithout(value, place, out));
  return out;
}

Result<SweepValue> readChange(const json& value, const std::string& place) {
  KV_TRY(known(value, place, {"label", "set", "without"}));
  std::string label = KV_TRY(textOf(value, place + ".", "label"));
  if (!value.contains("set") || !value["set"].is_object())
    return badField(place + ".set", value.value("set", json()), "is no object of manifest changes");
  SweepValue out{label, value["set"]};
  KV_TRY(readWithout(value, place, out));
  return out;
}

Result<SweepValue> readBudget(const json& value, const std::string& place, bool ratio) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (ratio && !(number > 0 && number <= 1)) return badField(place, value, "is no ratio above 0 and up to 1");
  if (!ratio && !(value.is_number_integer() && number >= 1))
    return badField(place, value, "is no number of tokens from 1 on");
  return SweepValue{value.dump(), json::object(), SweepBudget{ratio, number}};
}

Result<SweepAxis> readAxis(const json& object, const std::string& place) {
  KV_TRY(known(object, place, {"name", "key", "budget", "values"}));
  std::string name = KV_TRY(textOf(object, place + ".", "name"));
  SweepAxis axis{name, "", {}};
  if (object.contains("key") && object.contains("budget"))
    return badField(place + ".budget", object["budget"], "stands beside key");
  axis.key = KV_TRY(textOf(object, place + ".", "key", ""));
  std::string budget = KV_TRY(textOf(object, place + ".", "budget", ""));
  if (!budget.empty() && budget != "ratio" && budget != "tokens")
    return badField(place + ".budget", budget, "is neither ratio nor tokens");
  if ((axis.name == "budget") != !budget.empty())
    return badField(place + ".name", axis.name, "must be budget for the axis of budgets and for no other");
  KV_TRY(listOf(object, place + ".", "values"));
  std::set<std::string> labels;
  for (std::size_t i = 0; i < object["values"].size(); ++i) {
    const json& value = object["values"][i];
    const std::string here = place + ".values[" + std::to_string(i) + "]";
    SweepValue one = KV_TRY(!budget.empty()        ? readBudget(value, here, budget == "ratio")
                                : axis.key.empty() ? readChange(value, here)
                                                   : readKeyValue(value, here, axis.key));
    if (!labels.insert(one.label).second)
      return badField(here, value, "has the label " + one.label + ", which another one has");
    axis.values.push_back(std::move(one));
  }
  return axis;
}

Status readAxes(const json& list, SweepSpec& spec) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = "axes[" + std::to_string(i) + "]";
    SweepAxis axis = KV_TRY(readAxis(list[i], place));
    if (!names.insert(axis.name).second) return badField(place + ".name", axis.name, "is the name of another axis");
    spec.axes.push_back(std::move(axis));
  }
  for (const SweepAxis& axis : spec.axes)
    for (const SweepValue& value : axis.values)
      for (const std::string& other : value.without)
        if (other == axis.name || !names.count(other))
          return badField("axes." + axis.name + "." + value.label + ".without", other, "names no other axis");
  return ok();
}

Status readSeeds(const json& list, SweepSpec& spec) {
  spec.seeds.clear();
  for (const json& seed : list) {
    if (!seed.is_number_integer() || seed.get<std::int64_t>() < 0)
      return badField("seeds", seed, "holds what is no whole number from 0 on");
    if (std::find(spec.seeds.begin(), spec.seeds.end(), seed.get<std::int64_t>()) != spec.seeds.end())
      return badField("seeds", seed, "holds a seed twice");
    spec.seeds.push_back(seed.get<std::int64_t>());
  }
  return ok();
}

Status readLimit(const json& object, const std::string& place, const char* key, int& out) {
  if (!object.contains(key)) return ok();
  const json& value = object[key];
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > 1'000'000)
    return badField(place + "." + key, value, "is no number from 1 on");
  out = value.get<int>();
  return ok();
}

Status readUse(const json& object, const std::string& place, SweepPrompts& out) {
  std::string ask = KV_TRY(textOf(object, place + ".", "ask", "after"));
  if (ask != "after" && ask != "inside") return badField(place + ".ask", ask, "is neither after nor inside");
  out.ask = ask == "after" ? Ask::After : Ask::Inside;
  for (auto [key, limit] : {std::pair{"stories", &out.use.stories},
                            {"questions", &out.use.questions},
                            {"max_new_tokens", &out.use.newTokens},
                            {"samples", &out.task.samples}})
    KV_TRY(readLimit(object, place, key, *limit));
  if (!object.contains("chat")) return ok();
  if (!object["chat"].is_boolean()) return badField(place + ".chat", object["chat"], "is neither true nor false");
  out.use.chat = object["chat"].get<bool>();
  return ok();
}

/// A list of depths, or how many of them lie evenly from first to last.
Status readDepths(const json& object, const std::string& place, TaskWish& out) {
  if (!object.contains("depth")) return ok();
  const json& value = object["depth"];
  const std::string key = place + ".depth";
  if (value.is_number_integer()) {
    int count = 0;
    KV_TRY(readLimit(object, place, "depth", count));
    for (int i = 0; i < count; ++i) out.depths.push_back(count == 1 ? 0.5 : i / (count - 1.0));
    return ok();
  }
  if (!value.is_array() || value.empty()) return badField(key, value, "is neither a count nor a list of depths");
  for (const json& one : value) {
    if (!one.is_number() || !(one.get<double>() >= 0 && one.get<double>() <= 1))
      return badField(key, value, "holds what is no number from 0 to 1");
    out.depths.push_back(one.get<double>());
  }
  return ok();
}

Result<std::vector<std::string>> readTaskNames(const json& value, const std::string& place) {
  std::vector<std::string> all = namesOf(taskKinds());
  if (value == "all") return all;
  std::vector<std::string> out;
  for (const json& one : value.is_array() ? value : json::array({value})) {
    if (!one.is_string() || !taskKind(one.get<std::string>()))
      return badField(
          place + ".task", value,
          "names no task that kvlab list tasks has" + nearestNote(one.is_string() ? one.get<std::string>() : "", all));
    out.push_back(one.get<std::string>());
  }
  return out.empty() ? Result<std::vector<std::string>>(badField(place + ".task", value, "names no task")) : out;
}

Result<std::vector<int>> readLengths(const json& object, const std::string& place) {
  constexpr std::int64_t kMost = 10'000'000;
  if (!object.contains("length")) return badField(place + ".length", nullptr, "is missing");
  const json& value = object["length"];
  std::vector<int> out;
  for (const json& one : value.is_array() ? value : json::array({value})) {
    if (!one.is_number_integer() || one.get<std::int64_t>() < 1 || one.get<std::int64_t>() > kMost)
      return badField(place + ".length", value, "is no number of tokens from 1 on, and no list of them");
    out.push_back(one.get<int>());
  }
  return out.empty() ? Result<std::vector<int>>(badField(place + ".length", value, "has no entry")) : out;
}

/// One set for each task and length of the entry.
Result<std::vector<SweepPrompts>> readTasks(const json& object, const std::string& place) {
  KV_TRY(known(object, place, {"name", "task", "length", "depth", "samples", "ask", "chat", "max_new_tokens"}));
  SweepPrompts each;
  KV_TRY(readUse(object, place, each));
  KV_TRY(readDepths(object, place, each.task));
  each.task.newTokens = each.use.newTokens;
  const std::vector<std::string> tasks = KV_TRY(readTaskNames(object["task"], place));
  const std::vector<int> lengths = KV_TRY(readLengths(object, place));
  const std::string given = KV_TRY(textOf(object, place + ".", "name", ""));
  std::vector<SweepPrompts> out;
  for (const int length : lengths)
    for (const std::string& task : tasks) {
      each.task.task = task;
      each.task.length = length;
      const std::string own = task + "-" + std::to_string(length);
      each.name = given.empty() ? own : tasks.size() * lengths.size() == 1 ? given : given + "-" + own;
      out.push_back(each);
    }
  return out;
}

Result<std::vector<SweepPrompts>> readPrompts(const json& object, const std::string& place) {
  if (object.is_object() && object.contains("task")) return readTasks(object, place);
  KV_TRY(known(object, place, {"name", "file", "set", "ask", "stories", "questions", "chat", "max_new_tokens"}));
  SweepPrompts out;
  out.name = KV_TRY(textOf(object, place + ".", "name"));
  if (object.contains("file") == object.contains("set"))
    return badField(place, object, "needs one of file, set and task");
  out.file = KV_TRY(textOf(object, place + ".", "file", ""));
  if (object.contains("set")) out.set = object["set"];
  KV_TRY(readUse(object, place, out));
  return std::vector<SweepPrompts>{std::move(out)};
}

Status readMeasure(const json& list, SweepSpec& spec) {
  spec.measure.clear();
  const std::vector<std::string> groups = sweepGroups();
  for (const json& group : list) {
    if (std::none_of(groups.begin(), groups.end(), [&](const std::string& one) { return group == one; })) {
      std::string all;
      for (const std::string& one : groups) all += (all.empty() ? "" : ", ") + one;
      return badField("measure", group, "holds what is none of " + all);
    }
    spec.measure.push_back(group.get<std::string>());
  }
  return ok();
}

Status readExpressions(const json& list, SweepSpec& spec) {
  for (const json& text : list) {
    if (!text.is_string()) return badField("expressions", text, "holds what is no text");
    Result<Expression> read = Expression::parse(text.get<std::string>());
    if (!read) return badField("expressions", text, "holds one that is refused: " + read.error().why);
    if (read->type() == ValueType::Text) return badField("expressions", text, "holds a text, which has no mean");
    if (read->needs(Need::Stage)) return badField("expressions", text, "asks for a stage, and ticks run whole");
    if (std::find(spec.expressions.begin(), spec.expressions.end(), read->text()) != spec.expressions.end())
      return badField("expressions", text, "holds an expression twice");
    spec.expressions.push_back(read->text());
  }
  return ok();
}

/// Replaces the value at the key instead of merging into it.
void place(json& manifest, const SweepAxis& axis, const json& set) {
  if (!axis.key.empty()) {
    json* old = &manifest;
    std::string rest = axis.key;
    for (auto dot = rest.find('.'); old->is_object() && dot != std::string::npos && old->contains(rest.substr(0, dot));
         dot = rest.find('.')) {
      old = &(*old)[rest.substr(0, dot)];
      rest = rest.substr(dot + 1);
    }
    if (old->is_object()) old->erase(rest);
  }
  manifest.merge_patch(set);
}

/// Fills keys that no result depends on, where the base lacks them: a cell has one thread, no history, no checks.
json withDefaults(json base) {
  const json defaults{{"threads", 1}, {"history_bytes", 0}, {"check", {{"level", "off"}}}};
  for (const auto& [key, value] : defaults.items())
    if (!base.contains(key)) base[key] = value;
  return base;
}

void plant(json& manifest, std::int64_t seed) { manifest["sampling"]["seed"] = seed; }

class Expansion {
 public:
  explicit Expansion(const SweepSpec& spec) : m_spec(spec) {}

  Result<std::vector<SweepCell>> run() {
    for (m_prompts = 0; m_prompts < m_spec.prompts.size(); ++m_prompts)
      for (const std::int64_t seed : m_spec.seeds) {
        m_seed = seed;
        KV_TRY(descend(0));
      }
    return std::move(m_cells);
  }

 private:
  Status descend(std::size_t depth) {
    if (depth == m_spec.axes.size()) return add();
    const SweepAxis& axis = m_spec.axes[depth];
    m_chosen.push_back(nullptr);
    for (const SweepValue& value : axis.values) {
      m_chosen.back() = &value;
      KV_TRY(descend(depth + 1));
    }
    m_chosen.pop_back();
    return ok();
  }

  /// True if another chosen value does not vary along this axis.
  bool ignored(std::size_t axis) const {
    return std::any_of(m_chosen.begin(), m_chosen.end(), [&](const SweepValue* value) {
      return std::find(value->without.begin(), value->without.end(), m_spec.axes[axis].name) != value->without.end();
    });
  }

  Status add() {
    SweepCell cell;
    json manifest = withDefaults(m_spec.base);
    std::string labels;
    for (std::size_t i = 0; i < m_chosen.size(); ++i) {
      if (ignored(i) && m_chosen[i] != &m_spec.axes[i].values.front()) return ok();  // its one cell exists
      const std::string label = ignored(i) ? "-" : m_chosen[i]->label;
      cell.axes.emplace_back(m_spec.axes[i].name, label);
      labels += (labels.empty() ? "" : ", ") + m_spec.axes[i].name + " " + label;
      if (ignored(i)) continue;
      place(manifest, m_spec.axes[i], m_chosen[i]->set);
      if (m_chosen[i]->budget) cell.budget = m_chosen[i]->budget;
    }
    plant(manifest, m_seed);
    KV_TRY(mergePolicy(manifest, cell));
    Result<Manifest> parsed = Manifest::fromJson(manifest);
    if (!parsed) {
      Error error = badField("axes", labels, "give a manifest that is refused (" + labels + "): " + parsed.error().why);
      error.field = parsed.error().field;
      return error;
    }
    cell.index = static_cast<std::int64_t>(m_cells.size());
    cell.prompts = m_prompts;
    cell.seed = m_seed;
    cell.manifest = parsed.take();
    if (cell.index >= kMostCells) return badField("axes", cell.index, "give more than a million cells");
    m_cells.push_back(std::move(cell));
    return ok();
  }

  /// The budget, and the seed of a policy that takes one and was given none.
  Status mergePolicy(json& manifest, const SweepCell& cell) const {
    const json given = manifest.value("policy", json("full"));
    Result<json> policy = namedObject(given);
    if (!policy) return badField("policy", given, "is none: " + policy.error().why);
    const json name = policy->value("name", json());
    const std::optional<PolicyName> known = policyNamed(name.is_string() ? name.get<std::string>() : "");
    if (known && known->takes("seed") && !policy->contains("seed")) (*policy)["seed"] = m_seed;
    if (cell.budget) {
      for (const char* key : {"ratio", "capacity", "budget"}) policy->erase(key);
      if (cell.budget->ratio) (*policy)["ratio"] = cell.budget->value;
      else (*policy)["capacity"] = static_cast<std::int64_t>(cell.budget->value);
    }
    manifest["policy"] = policy.take();
    return ok();
  }

  const SweepSpec& m_spec;
  std::vector<SweepCell> m_cells;
  std::vector<const SweepValue*> m_chosen;
  std::size_t m_prompts = 0;
  std::int64_t m_seed = 0;
};

}  // namespace

std::string_view askName(Ask ask) { return ask == Ask::After ? "after" : "inside"; }

bool SweepSpec::measures(std::string_view group) const {
  return std::find(measure.begin(), measure.end(), group) != measure.end();
}

Result<SweepSpec> SweepSpec::fromJson(const json& object) {
  KV_TRY(
      known(object, "", {"name", "about", "base", "reference", "axes", "seeds", "prompts", "measure", "expressions"}));
  SweepSpec spec;
  spec.given = object;
  spec.measure = sweepGroups();
  spec.name = KV_TRY(textOf(object, "", "name", spec.name));
  spec.base = object.value("base", json{{"model", "demo"}});
  spec.reference = object.value("reference", json{{"policy", "full"}});
  for (const auto& [key, manifest] : {std::pair{"base", &spec.base}, {"reference", &spec.reference}})
    if (!manifest->is_object()) return badField(key, *manifest, "is no manifest");
  if (object.contains("axes") && !object["axes"].is_array()) return badField("axes", object["axes"], "is no list");
  KV_TRY(readAxes(object.value("axes", json::array()), spec));
  if (object.contains("seeds")) KV_TRY(listOf(object, "", "seeds"));
  KV_TRY(readSeeds(object.value("seeds", json{1}), spec));
  KV_TRY(listOf(object, "", "prompts"));
  std::set<std::string> names;
  for (std::size_t i = 0; i < object["prompts"].size(); ++i) {
    const std::string place = "prompts[" + std::to_string(i) + "]";
    std::vector<SweepPrompts> sets = KV_TRY(readPrompts(object["prompts"][i], place));
    for (SweepPrompts& prompts : sets) {
      if (!names.insert(prompts.name).second)
        return badField(place + ".name", prompts.name, "is the name of another prompt set");
      spec.prompts.push_back(std::move(prompts));
    }
  }
  if (object.contains("measure")) {
    KV_TRY(listOf(object, "", "measure"));
    KV_TRY(readMeasure(object["measure"], spec));
  }
  if (object.contains("expressions")) {
    KV_TRY(listOf(object, "", "expressions"));
    KV_TRY(readExpressions(object["expressions"], spec));
  }
  return spec;
}

Result<std::vector<SweepCell>> sweepCells(const SweepSpec& spec) { return Expansion(spec).run(); }

Result<Manifest> referenceManifest(const SweepSpec& spec, std::int64_t seed) {
  json manifest = withDefaults(spec.base);
  for (const auto& [key, value] : spec.reference.items()) manifest[key] = value;
  plant(manifest, seed);
  manifest["probes"] = true;  // its attention is what "kept" is measured against
  Result<Manifest> parsed = Manifest::fromJson(manifest);
  if (parsed) return parsed;
  return badField("reference", spec.reference, "gives a manifest that is refused: " + parsed.error().why);
}

}  // namespace kvlab
