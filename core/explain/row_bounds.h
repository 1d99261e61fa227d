// SPDX-License-Identifier: Apache-2.0
// How far rows may be from the model's by rounding alone: the text is computed once more with rows rounded to the type
// of the file on their way into the cache, and with the arithmetic that goes with it. Engine thread.
#pragma once
#include <vector>

#include "core/explain/reading.h"
#include "core/explain/row_types.h"

namespace kvlab {

/// Rounds rows to a type as a reading lays them out: TokenPass::stored.
class RowRounding {
 public:
  RowRounding(const ModelConfig& config, SideReading keys, SideReading values, const StoredType* keyType,
              const StoredType* valueType, std::vector<double> phases, std::int64_t length);
  void operator()(Layer layer, std::int64_t first, std::span<float> keys, std::span<float> values) const;
  bool rounds() const;
  bool in16(Side side) const;  // rows of 16 bits, as engines compute in

 private:
  void round(const SideReading& reading, const StoredType* type, Layer layer, std::int64_t first,
             std::span<float> rows) const;

  const ModelConfig& m_config;
  SideReading m_keys, m_values;
  const StoredType *m_keyType, *m_valueType;
  std::vector<double> m_phases;  // [tokens]
  std::int64_t m_length;
};

/// Rows as the type and the arithmetic of a file leave them, and the error that each row and head may have.
struct RowBounds {
  TokenRows typed;
  std::vector<std::vector<float>> keys, values;  // [layers][tokens, heads] relative L2
  bool wide = false;  // rows and arithmetic are f32: nothing but the order of sums may differ
};

/// rows: the exact ones; pass: the pass that gave them, with the back end of the assumed arithmetic. between: 16-bit
/// type that the engine computes in, to which the output of each layer is rounded; null = f32. ownArithmetic: the pass
/// has the back end of `rows`. In f32 a pass with noise in the last places tells how far that travels in this model.
Result<RowBounds> rowBounds(const TokenPass& pass, const TokenRows& rows, const RowRounding& rounding,
                            const StoredType* between, bool ownArithmetic);

/// Widens bounds of f32 rows of a layer to the noise of the file: to a multiple of the figure that a quarter of its
/// heads stay below, and at most to what sums of a thousand terms leave. A fault that most rows do not have stays
/// above.
void allowNoise(int layer, std::vector<float> figures, std::vector<float>& bounds);

/// Mean relative error that rounding to a type leaves in rows of a layer, which lie as in the form of Hugging Face.
double typeError(const StoredType* type, std::vector<float> rows, int dim);

}  // namespace kvlab
