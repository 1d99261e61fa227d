// SPDX-License-Identifier: Apache-2.0
// A cache that was read from a file and checked against a session. Rows stay in the mapped file until the session
// copies them to its pools. Values; any thread.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/action.h"
#include "core/api/ledger_view.h"
#include "core/api/manifest.h"
#include "core/model/files/config.h"
#include "core/model/files/tensor.h"
#include "core/state/cache_state.h"
#include "kernels/row_format.h"

namespace kvlab {

class KindFile;
struct CacheMemory;

enum class CacheForm : std::uint8_t { Native, HfTuple, HfDynamic };

/// The properties of a session that a file must match.
struct CacheTarget {
  ModelConfig config;
  std::string fingerprint;                       // fingerprint of the model, core/files/fingerprint.h
  std::string numerics;                          // numerics id
  kernels::DType weights = kernels::DType::f32;  // type that the model's weights were rounded to; f32 = as they came
  std::vector<kernels::RowFormat> formats;       // [cache layers]
  std::vector<std::int32_t> keep;                // [cache layers] newest rows that a layer keeps, 0 = all
  PositionMode position = PositionMode::Context;
  std::int64_t capacity = 0;   // rows per layer
  std::int32_t maxPhases = 0;  // exclusive upper bound of a phase
  double maxBrightness = 255;
  std::shared_ptr<const KindFile> kind = {};  // null = a plain session
  std::vector<std::string> kinds = {};        // keys of all kinds that add to files
};

struct CacheImport {
  CacheForm form = CacheForm::HfDynamic;
  std::vector<TokenId> tokens;       // [length] tokens of the context
  std::vector<std::int32_t> phases;  // [length]
  bool edited = false;               // rows may belong to a context that no longer exists

  /// Roundings that the rows of a cache layer have passed through.
  struct Rounded {
    Rounding k, v;          // rounding by all types that rows had passed through when the file was written
    Rounding fileK, fileV;  // types of the file, which a native file does not have
    Rounding arithmetic;    // products that were rounded otherwise than the session rounds them
    /// By all of it.
    Rounding allOfK() const { return k.then(fileK).then(arithmetic); }
    Rounding allOfV() const { return v.then(fileV).then(arithmetic); }
  };
  std::vector<Rounded> rounded;  // [cache layers]

  /// Hugging Face forms: keys rotated at `phases`, [kvHeads, rows of the layer, headDim] as the file has them.
  struct Rotated {
    TensorView key, value;
  };
  std::vector<Rotated> rotated;  // [layers]
  /// [layers] indices of the tokens whose rows a layer has, ascending; or empty: each layer has all rows.
  std::vector<std::vector<std::int32_t>> held;
  /// Rows of a layer in a Hugging Face form, and the token of one of them.
  std::int32_t heldRows(CacheLayer layer) const {
    return static_cast<std::int32_t>(held.empty() ? tokens.size() : held[at(layer)].size());
  }
  std::int32_t heldAt(CacheLayer layer, std::int64_t row) const {
    return held.empty() ? static_cast<std::int32_t>(row) : held[at(layer)][at(row)];
  }

  /// Form native: the whole state, and row records as the pool had them.
  struct Group {
    std::vector<LedgerId> ledger;        // [rows]
    std::vector<std::int32_t> phases;    // [rows]
    std::vector<Provenance> provenance;  // [ledger]
  };
  std::vector<LedgerRow> ledger;
  std::vector<LedgerId> context;          // [length]
  std::vector<float> brightness;          // [length]
  std::vector<std::int32_t> birthPhases;  // [ledger]
  std::vector<Group> groups;
  std::vector<std::int32_t> groupOf;  // [layers]
  std::vector<std::int32_t> first;    // [cache layers] leading rows of the map that had left through the window
  std::vector<std::span<const std::byte>> records;  // [layers] each [rows - first, stride]
  std::array<std::uint64_t, 2> random{};
  Tick tick;
  std::vector<Action> pending;
  std::shared_ptr<const CacheMemory> memory;  // null for files of version 1
  std::shared_ptr<const KindState> kind;      // null = a plain session; else the groups have rows in the kind's order

  std::shared_ptr<const void> storage;  // keeps the bytes that tensors and records point into
};

}  // namespace kvlab
