// SPDX-License-Identifier: Apache-2.0
// The work of explain(), step by step: open, read, bound, compare, find faults, run faults of the engine, answer. One
// object for one answer; engine thread.
#pragma once
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "core/explain/cause_reach.h"
#include "core/explain/engine_search.h"
#include "core/explain/pair_layout.h"
#include "core/explain/reading_search.h"
#include "core/explain/row_bounds.h"
#include "core/explain/row_faults.h"
#include "core/session/session.h"

namespace kvlab {

class Explainer {
 public:
  Explainer(const ForeignCache& cache, std::unique_ptr<Session> session, const ExplainAsk& ask)
      : m_cache(cache), m_ask(ask), m_session(std::move(session)) {}
  Result<Explanation> run();

 private:
  static constexpr std::size_t kKeys = 0, kValues = 1;
  using Sides = std::array<std::vector<float>, 2>;

  // explainer_open.cpp
  Status open();
  Status checkShapes() const;
  Status readRows();
  Result<TokenRows> rowsOfText(const std::vector<TokenId>& ids, int layers);
  TokenPass passOver(const std::vector<TokenId>& ids) const;

  // explainer_reading.cpp
  Status read();
  void separatePairs(const std::vector<RowPlaces>& places, FoundReading& values);
  void rereadBits(const std::vector<RowPlaces>& places, FoundReading& values);
  FoundReading searchSide(Side side, const std::vector<RowPlaces>& places);
  std::vector<FoundReading> readingsOf(Side side, const std::vector<RowPlaces>& places,
                                       const std::vector<float>& theirs) const;
  std::vector<RowPlaces> placesOfKeys(const FoundReading& values, const std::vector<RowPlaces>& places) const;
  bool readTextOfRows(const FoundReading& values, RowPlaces& places);
  Status takeText(const RowPlaces& places);
  void placeLayers(const RowPlaces& first);
  void nameMissingIn(std::int32_t layer, const RowPlaces& places);
  void nameMissing(const RowPlaces& places);
  void mapLayers();
  void findTypes();
  void findOtherScales(std::size_t side);
  void findScale(std::size_t side);
  void correctPhases();

  // explainer_bounds.cpp
  Status bound();
  Result<RowBounds> boundsOf(kernels::Backend* backend, const StoredType* between, int layers);
  void allowNoiseOf(std::size_t layers);
  double wrongIn(const RowBounds& bounds) const;
  void compare(const TokenRows& ours);
  void compareLayer(std::size_t index, const TokenRows& ours);
  RowRounding rounding() const;
  Status boundKept(const KeptPass& kept);

  // explainer_answer.cpp
  Status findFaults(const TokenRows& ours);
  void nameForeign(std::vector<RowFault>& faults) const;
  LeftSignature signature(bool withFaults) const;
  Status runEngine();
  void guessStale();
  Result<bool> runTrials(const LeftSignature& over, bool ofRows, bool withFaults);
  Result<bool> runUnscaled();
  TrialFit fitOf(const TokenRows& rows, int layers, bool withFaults) const;
  Explanation answer();
  void judge(Explanation& out) const;
  void reach(Explanation& out) const;
  LeftFigures figures(bool withFaults) const;
  LeftFigures plainFigures() const;
  int ownOf(std::size_t index, std::size_t side) const {
    return side == kValues && !m_valuesOwn.empty() ? m_valuesOwn[index] : m_layers[index].own;
  }
  double errorWithout(const std::string& kind) const;
  LeftFigures typeFigures() const;
  std::optional<ExplainedPlace> firstWrong() const;
  std::string verdict(const Explanation& out) const;

  const ModelConfig& config() const { return m_session->model().config(); }
  std::size_t width() const { return at(config().kvHeads) * at(config().headDim); }
  const std::vector<float>& rowsOf(std::size_t index, std::size_t side) const {
    return m_apart.empty() ? m_raw[index][side] : m_apart[index][side];
  }
  RowShape shapeOf(std::size_t index) const { return {m_cache.layers[index].rows, config().kvHeads, config().headDim}; }
  bool told(const std::string& what, std::int64_t done = 0, std::int64_t all = 0) const {
    return report(m_ask.progress, what, done, all);
  }
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count(); }

  ForeignCache m_cache;
  const ExplainAsk& m_ask;
  std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
  std::unique_ptr<Session> m_session;
  std::vector<TokenId> m_ids, m_before;
  TokenRows m_exact;
  std::vector<Sides> m_raw;    // [layers of the file] rows as the file has them
  std::vector<Sides> m_apart;  // the same, keys and values sorted apart; empty = they need not be
  std::array<SideReading, 2> m_reading;
  std::array<const StoredType*, 2> m_type = {};
  std::vector<RowPlaces> m_places;        // [layers of the file]
  std::vector<std::int32_t> m_valuesOwn;  // [layers of the file] layer of the model that values are of
  std::vector<ExplainedLayer> m_layers;   // [layers of the file]
  std::vector<Cause> m_more;              // causes that are no part of the reading
  std::vector<Rival> m_rivals;
  std::vector<std::string> m_notes;
  RowBounds m_bounds;
  std::unique_ptr<kernels::Backend> m_arithmetic;  // of the bounds; null = that of the session
  const StoredType* m_between = nullptr;           // 16-bit type that the engine computes in; null = f32
  double m_noise = 1;                              // factor of the bounds, for arithmetic that is unknown here
  std::vector<std::vector<bool>> m_faulty;         // [layers of the file][rows] explained by a fault of the row
  std::vector<Cause> m_faults;
  std::optional<FoundTrial> m_trial;
  RowReach m_reach;              // of the trial
  std::optional<Cause> m_guess;  // a cause that could not be verified
};

}  // namespace kvlab
