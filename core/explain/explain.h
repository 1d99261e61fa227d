// SPDX-License-Identifier: Apache-2.0
// "What is wrong with my cache?": finds the smallest explanation of the difference between a cache that another program
// wrote and the rows that the model gives for the same tokens. First the reading (which token a row belongs to, how its
// values lie, how keys are rotated), then rows that are not what they should be, then faults of attention, which are
// run in this engine. README.md says how. Engine thread.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/progress.h"
#include "core/foreign/foreign_cache.h"

namespace kvlab {

class Session;

enum class Side : std::uint8_t { Keys, Values };
std::string_view name(Side side);  // "keys", "values"

struct ExplainAsk {
  std::vector<TokenId> ids = {};  // text of the cache; empty = that of the file
  std::vector<TokenId> before =
      {};              // text before the last edit; empty = that of the file, where it differs from `ids`;
                       // where only the file's has as many tokens as there are rows, the two change places
  bool engine = true;  // run faults of attention in this engine
  std::int64_t mostBytes = std::int64_t{4} << 30;  // rows that may be held at once, as f32
  Progress progress = {};
};

enum class ExplainOutcome : std::uint8_t {
  Equal,      // every row is the model's, up to rounding and to what the program does by itself
  Explained,  // causes are named, and what they leave over is rounding
  Unexplained
};
std::string_view name(ExplainOutcome outcome);  // "equal", "explained", "unexplained"

/// A sort of cause. Its name is stable; blind tests and baselines compare it.
struct CauseKind {
  std::string_view name;   // "block_transpose"
  std::string_view title;  // "rows are transposed within blocks"
};
/// All sorts, faults of the engine's hypotheses included, in the order of lists.
std::span<const CauseKind> causeKinds();

/// Where rows of a cache lie: in these layers, KV heads and tokens, each ascending. Not every one of them need be wrong
/// everywhere.
struct RowReach {
  std::vector<std::int32_t> layers = {};  // of the model
  std::vector<std::int32_t> heads = {};
  std::vector<std::int32_t> tokens = {};  // index in Explanation::ids

  bool empty() const { return tokens.empty(); }
};

struct Cause {
  std::string kind;           // name in causeKinds()
  nlohmann::json parameters;  // {"side": "keys", "rows": 32}; "side" is missing where both are meant
                              // "usual": true where the program does so by itself: no mistake
  std::string text;           // "keys are transposed within blocks of 32 rows"
  double without = 0;         // middle error of the lowest layer if this part of the reading alone were left
                              // out; 0 of causes that are no part of the reading
  RowReach reach = {};        // rows that it accounts for; empty of rivals
};

/// What an explanation leaves over: relative L2 |theirs - ours| / |ours|.
struct LeftFigures {
  double keys = 0, values = 0;            // middle row-head (median) over all layers
  double worstKeys = 0, worstValues = 0;  // worst row of all layers
  double wrong = 0;                       // share of row-heads above their bound; NaN of a rival where nobody counted
};

/// Another explanation that was tried.
struct Rival {
  std::vector<Cause> causes;
  LeftFigures left;
};

/// Rows of a layer of the file, and what the explanation leaves over. Row i is row i of the reading: cells in the order
/// of the file, once transposes are undone.
struct ExplainedLayer {
  std::int32_t layer = 0;                     // of the file, as the importer numbers it
  std::int32_t own = 0;                       // layer of the model that it is compared with
  std::vector<std::int32_t> tokens;           // [rows] index in Explanation::ids; -1 = no token
  std::vector<std::int32_t> positions;        // [rows] that keys are turned to; -1 = none
  std::vector<float> keys, values;            // [rows, heads] relative L2; NaN of a row without a token
  std::vector<float> keyBounds, valueBounds;  // [rows, heads] that rounding of the type and arithmetic account for
  // Rows as the explanation reads them, [rows, heads * head size], keys rotated: the columns of a comparison.
  std::vector<float> theirKeys, theirValues;  // of the file, layout undone
  std::vector<float> exactKeys, exactValues;  // of the model, with the causes that follow from no layout
  std::vector<float> typedKeys, typedValues;  // the same in the type of the file
  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size()); }
};

/// The first row-head in order of computation that is above its bound.
struct ExplainedPlace {
  Side side = Side::Keys;
  std::int32_t layer = 0, head = 0, row = 0, token = 0;  // token: index in ids
  double figure = 0, bound = 0;
};

struct Explanation {
  ExplainOutcome outcome = ExplainOutcome::Unexplained;
  std::string verdict;        // one sentence
  std::vector<Cause> causes;  // the most important first; empty where the outcome is equal
  LeftFigures plain, left;    // before and after the causes
  LeftFigures type;           // error of ours in the type of the file, measured alike
  std::string keyType, valueType, importer;
  std::vector<TokenId> ids;              // text that rows were aligned with
  std::string alignment;                 // "by the file's positions", for people
  std::int64_t without = 0;              // rows of layers that belong to no token
  std::optional<ExplainedPlace> begins;  // of what the causes leave over; before them where they leave nothing
  RowReach unexplained;                  // rows that the causes leave over
  std::vector<Rival> rivals;             // the best first
  std::vector<ExplainedLayer> layers;    // ascending
  std::int32_t heads = 0, headDim = 0;
  std::vector<std::string> notes;
  double seconds = 0;
};

/// JSON: everything but the rows; `rows` adds the figures of each row and head.
nlohmann::json toJson(const Explanation& explanation, bool rows = false);
nlohmann::json toJson(const Cause& cause);
/// Lines for a terminal, the verdict first.
std::string explanationText(const Explanation& explanation);

/// True if `now` is no worse than the JSON of a former answer: no cause that it did not name, and nothing left over
/// that is clearly above what was. Errors: bad_argument, for JSON that is no answer.
Result<bool> noWorse(const Explanation& now, const nlohmann::json& former);

/// What the manifest of the session that explain() computes in says besides the model: exact rows are the reference.
nlohmann::json explainingChanges();

/// session: an empty one over the model of the cache, opened with explainingChanges(). Errors: bad_argument (no ids and
/// no positions; ids outside the vocabulary; layers or widths that the model does not have), too_large, bad_file,
/// cancelled.
Result<Explanation> explain(const ForeignCache& cache, std::unique_ptr<Session> session, const ExplainAsk& ask);

}  // namespace kvlab
