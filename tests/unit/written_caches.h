// SPDX-License-Identifier: Apache-2.0
// Caches as another program would write them, and the causes that a search names for them.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/explain/key_turning.h"
#include "core/explain/row_types.h"
#include "core/explain/token_rows.h"
#include "core/verbs/explain_cache.h"
#include "support/runner.h"

namespace kvlab::test {

/// Rows of a text as another program would have them: keys turned to their positions.
struct Written {
  RowShape shape;
  std::vector<std::vector<float>> keys, values;  // [layers][rows, width]
  std::string type = "f32";
  std::vector<std::int32_t> positions = {};  // of all layers
  std::vector<TokenId> ids = {};

  std::span<float> row(std::vector<float>& of, std::size_t index) const {
    return std::span(of).subspan(index * at(shape.width()), at(shape.width()));
  }
  ForeignCache cache() const {
    ForeignCache out;
    out.importer = "test", out.ids = ids;
    for (std::size_t layer = 0; layer < keys.size(); ++layer) {
      ForeignLayer one;
      one.layer = static_cast<std::int32_t>(layer), one.rows = shape.rows, one.positions = positions;
      one.keys = {type, shape.width(), [rows = keys[layer]] { return Result<std::vector<float>>(rows); }};
      one.values = {type, shape.width(), [rows = values[layer]] { return Result<std::vector<float>>(rows); }};
      out.layers.push_back(std::move(one));
    }
    return out;
  }
};

class Writer {
 public:
  explicit Writer(const std::string& model) : m_manifest({{"model", model}, {"check", {{"level", "off"}}}}) {
    auto session = openSession(*Manifest::fromJson(m_manifest), KVLAB_RESOURCES_DIR);
    if (session) m_session = std::move(*session);
    else qWarning("%s", session.error().text().c_str());
  }
  const ModelConfig& config() const { return m_session->model().config(); }
  RowShape shape(std::size_t rows) const {
    return {static_cast<std::int64_t>(rows), config().kvHeads, config().headDim};
  }
  std::vector<TokenId> text(int tokens, int seed = 1) const {
    std::vector<TokenId> out;
    for (int i = 0; i < tokens; ++i)
      out.push_back(TokenId((i * 37 + i * i * seed + 11 * seed) % (config().vocab - 8) + 4));
    return out;
  }
  TokenPass pass(const std::vector<TokenId>& ids) const {
    TokenPass out;
    out.weights = m_session->parts().weights, out.backend = m_session->parts().backend.get(), out.ids = ids;
    return out;
  }
  /// A clean cache in a type, as an engine has it that rounds rows on their way into the cache.
  Written clean(const std::vector<TokenId>& ids, const std::string& type = "f32") const {
    TokenPass made = pass(ids);
    SideReading keys, values;
    values.side = values.source = Side::Values;
    std::vector<double> phases;
    for (std::size_t i = 0; i < ids.size(); ++i) phases.push_back(static_cast<double>(i));
    const RowRounding rounding(config(), keys, values, storedType(type), storedType(type), phases,
                               static_cast<std::int64_t>(ids.size()));
    made.stored = rounding;
    return written(*tokenRows(made), ids, type);
  }
  Written written(TokenRows rows, const std::vector<TokenId>& ids, const std::string& type = "f32") const {
    Written out{shape(ids.size()), std::move(rows.keys), std::move(rows.values), type, {}, ids};
    for (std::size_t layer = 0; layer < out.keys.size(); ++layer) {
      turning(layer, ids.size()).turn(out.keys[layer], config().headDim, rows.phases);
      roundRows(*storedType(type), out.keys[layer], config().headDim);
    }
    return out;
  }
  KeyTurning turning(std::size_t layer, std::size_t tokens) const {
    return turningOf(config(), Layer(static_cast<int>(layer)), static_cast<std::int64_t>(tokens));
  }
  Result<Explanation> explained(const Written& cache, const std::vector<TokenId>& before = {}) const {
    ExplainAsk ask;
    ask.before = before;
    return explainCache(cache.cache(), m_manifest, KVLAB_RESOURCES_DIR, ask);
  }

 private:
  nlohmann::json m_manifest;
  std::unique_ptr<Session> m_session;
};

inline std::vector<std::string> kindsOf(const Explanation& answer) {
  std::vector<std::string> out;
  for (const Cause& cause : answer.causes) out.push_back(cause.kind);
  std::ranges::sort(out);
  return out;
}

inline std::string words(const std::vector<std::string>& kinds) {
  std::string out;
  for (const std::string& kind : kinds) out += (out.empty() ? "" : " ") + kind;
  return out;
}

inline constexpr auto kExplainedModels = {"demo", "synthetic:tiny", "synthetic:tiny-gemma"};

/// The answer names these causes and no others, and leaves nothing over.
inline void expect(const Writer& writer, const Written& cache, std::vector<std::string> kinds, const std::string& of,
                   const std::vector<TokenId>& before = {}) {
  const auto answer = writer.explained(cache, before);
  QVERIFY2(answer, answer ? "" : answer.error().text().c_str());
  std::ranges::sort(kinds);
  const std::string said =
      of + ": " + words(kindsOf(*answer)) + " in place of " + words(kinds) + ": " + answer->verdict;
  QVERIFY2(kindsOf(*answer) == kinds, said.c_str());
  QVERIFY2(answer->outcome == (kinds.empty() ? ExplainOutcome::Equal : ExplainOutcome::Explained), said.c_str());
}

}  // namespace kvlab::test
