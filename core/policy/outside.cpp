// SPDX-License-Identifier: Apache-2.0
#include "core/policy/outside.h"

#include <algorithm>
#include <memory>

#include "core/api/read_json.h"
#include "core/model/decoder/row_codec.h"
#include "core/policy/policy.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// A rule that is asked, and how it is called.
class Asked {
 public:
  Asked(AddedKind kind, std::string name, AskAdded ask)
      : m_kind(kind), m_name(std::move(name)), m_ask(std::move(ask)) {}

  AddedQuestion question(const char* what, const json& options) const {
    return {{{"kind", kvlab::name(m_kind)},
             {"name", m_name},
             {"what", what},
             {"options", options.is_object() ? options : json::object()}}};
  }

  Error failed(const AddedQuestion& question, const std::string& why) const {
    const json& layer = member(question.told, "layer");
    return Error(codeOf(m_kind),
                 "the " + std::string(kvlab::name(m_kind)) + " " + m_name + " failed" +
                     (layer.is_null() ? "" : " in layer " + layer.dump()),
                 why, "mend it and add it again; the session is as it was", "name", m_name);
  }

  Result<std::string> bytes(const AddedQuestion& question) const {
    Result<std::string> answer = m_ask(question);
    if (!answer) return failed(question, answer.error().why);
    return answer;
  }

  /// As many numbers as one of the counts says.
  template <class T>
  Result<std::vector<T>> numbers(const AddedQuestion& question, std::initializer_list<std::size_t> counts) const {
    std::vector<T> out = numbersIn<T>(KV_TRY(bytes(question)));
    if (std::ranges::find(counts, out.size()) != counts.end()) return out;
    return failed(question,
                  "it gave " + std::to_string(out.size()) + " numbers in place of " + std::to_string(*counts.begin()));
  }

 private:
  AddedKind m_kind;
  std::string m_name;
  AskAdded m_ask;
};

AddedQuestion questionOf(const Asked& asked, const PolicySpec& spec, const LayerRows& rows, const char* what) {
  AddedQuestion out = asked.question(what, spec.options);
  out.told.update({{"layer", rows.layer.value()},
                   {"heads", rows.heads},
                   {"kv_heads", rows.kvHeads},
                   {"head_dim", rows.headDim},
                   {"next_phase", rows.nextPhase},
                   {"sinks", spec.sinks},
                   {"window", spec.window}});
  out.list("ledger", rows.ledger, {rows.rows()});
  out.list("memory", std::span(rows.memory), {rows.memory.size()});
  visitStatistics(rows, [&out](const char* name, auto list, std::initializer_list<std::size_t> shape) {
    out.list(name, list, shape);
  });
  return out;
}

Status addAskedPolicy(const json& told, const std::string& name, const Asked& asked) {
  Policy policy;
  policy.revision = memberOr(told, "revision", std::string());
  policy.needs = KV_TRY(statisticsNamed(name, member(told, "needs")));
  policy.scores = [asked](const PolicySpec& spec, const LayerRows& rows) {
    const std::size_t n = rows.rows();
    return asked.numbers<float>(questionOf(asked, spec, rows, "score"), {n, n * at(rows.kvHeads)});
  };
  if (memberOr(told, "observes", false))
    policy.observes = [asked](const PolicySpec& spec, const LayerRows& rows) {
      return asked.bytes(questionOf(asked, spec, rows, "observe"));
    };
  return addPolicy(name, memberOr(told, "help", std::string()), member(told, "options"), std::move(policy));
}

RowCodec askedCodec(const Asked& asked) {
  return {[asked](const CodedHeads& heads) {
    AddedQuestion question = asked.question("rows", heads.options);
    question.told.update({{"layer", heads.layer.value()}, {"keys", heads.keys}});
    question.list("heads", heads.heads, {heads.heads.size()});
    question.list("values", heads.values, {heads.heads.size(), at(heads.headDim)});
    return asked.numbers<float>(question, {heads.values.size()});
  }};
}

CompressorRule askedCompressor(const Asked& asked) {
  return {[asked](const CulledCandidates& pairs) {
    const std::size_t n = pairs.positions.size();
    AddedQuestion question = asked.question("tokens", pairs.options);
    question.list("positions", pairs.positions, {n});
    question.list("tokens", pairs.tokens, {n, 2});
    question.list("brightness", pairs.brightness, {n, 2});
    question.list("context", pairs.context, {pairs.context.size()});
    return asked.numbers<std::int32_t>(question, {n});
  }};
}

GistRule askedGist(const Asked& asked) {
  return {[asked](const GistChildren& nodes) {
    const auto block = at(kGistBlock), hidden = at(nodes.hidden), n = nodes.children.size() / (block * hidden);
    AddedQuestion question = asked.question("gists", nodes.options);
    question.told["level"] = nodes.level;
    question.list("children", nodes.children, {n, block, hidden});
    return asked.numbers<float>(question, {n * hidden});
  }};
}

LensRule askedLens(const Asked& asked) {
  return {[asked](const LensEntries& entries) {
    const std::size_t n = entries.starts.size();
    AddedQuestion question = asked.question("scores", entries.options);
    question.told["length"] = entries.length;
    question.list("start", entries.starts, {n});
    question.list("level", entries.levels, {n});
    if (!entries.mass.empty()) question.list("mass", entries.mass, {n});
    question.list("vectors", entries.vectors, {n, at(entries.hidden)});
    return asked.numbers<double>(question, {n});
  }};
}

}  // namespace

Status addOutside(const json& told, AskAdded ask) {
  const std::string kind = memberOr(told, "kind", std::string()), name = memberOr(told, "name", std::string()),
                    help = memberOr(told, "help", std::string()), revision = memberOr(told, "revision", std::string());
  const json& options = member(told, "options");
  const auto added = [&](AddedKind which, std::shared_ptr<const void> rule) {
    return add(
        {.kind = which, .name = name, .help = help, .revision = revision, .options = options, .rule = std::move(rule)});
  };
  for (const AddedKind which : kAddedKinds) {
    if (kind != kvlab::name(which)) continue;
    const Asked asked(which, name, std::move(ask));
    switch (which) {
      case AddedKind::Policy: return addAskedPolicy(told, name, asked);
      case AddedKind::Codec: return addCodec(name, help, options, revision, askedCodec(asked));
      case AddedKind::Compressor: return added(which, std::make_shared<const CompressorRule>(askedCompressor(asked)));
      case AddedKind::Gist: return added(which, std::make_shared<const GistRule>(askedGist(asked)));
      case AddedKind::Lens: return added(which, std::make_shared<const LensRule>(askedLens(asked)));
    }
  }
  return Error("bad_policy", "the rule " + name + " was not added", "\"" + kind + "\" is no kind of a rule",
               "name policy, codec, compressor, gist or lens", "kind", kind);
}

}  // namespace kvlab
