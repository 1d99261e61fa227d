// SPDX-License-Identifier: Apache-2.0
// The least bytes that an op has to read and write: every input and output once. Index arrays do not count where
// values outweigh them by far. Event lists show these bytes. Pure functions of the arguments.
#pragma once

#include "kernels/ops/op_table.h"

namespace kvlab::kernels {

/// The name of an op in event lists: rows of a type with scales are quantised and dequantised.
template <class Args>
constexpr const char* opTitle(const char* name, const Args&) {
  return name;
}
inline const char* opTitle(const char* name, const WriteRowsArgs& a) {
  return dtypeHasScale(a.fmt.k) || dtypeHasScale(a.fmt.v) ? "quantise" : name;
}
inline const char* opTitle(const char* name, const GatherRowsArgs& a) {
  return (a.k && dtypeHasScale(a.fmt.k)) || (a.v && dtypeHasScale(a.fmt.v)) ? "dequantise" : name;
}

/// Bytes of K and V of a row, scales included.
inline int64_t keyBytes(const RowFormat& f) {
  return f.kvHeads * (f.headDim * dtypeBytes(f.k) + (dtypeHasScale(f.k) ? 4 : 0));
}
inline int64_t valueBytes(const RowFormat& f) {
  return f.kvHeads * (f.headDim * dtypeBytes(f.v) + (dtypeHasScale(f.v) ? 4 : 0));
}
inline int64_t recordBytes(const RowFormat& f) { return rowLayout(f).stride; }

/// Bytes of a matrix with its scales.
inline int64_t weightBytes(const Weight& w) { return w.n * (dtypeRowBytes(w.type, w.k) + (w.scales ? 4 : 0)); }
/// Bytes of the model that a linear step reads: matrices, norm and biases. The rest of opBytes() is activations.
inline int64_t weightBytes(const LinearArgs& a) {
  int64_t bytes = a.normWeight ? a.k() * dtypeBytes(a.normType) : 0;
  for (int i = 0; i < a.nParts; ++i) bytes += weightBytes(a.parts[i].w) + (a.parts[i].bias ? 4 * a.parts[i].w.n : 0);
  return bytes;
}

inline int64_t opBytes(const ConvertArgs& a) { return a.count * (dtypeBytes(a.fromType) + dtypeBytes(a.toType)); }
inline int64_t opBytes(const EmbeddingArgs& a) { return a.n * (dtypeRowBytes(a.tableType, a.dim) + 4 * a.dim); }
inline int64_t opBytes(const MatmulArgs& a) {
  return weightBytes(a.w) + 4 * (a.m * (a.w.n + a.w.k) + (a.bias ? a.w.n : 0));
}
inline int64_t opBytes(const LinearArgs& a) {
  int64_t values = a.k() + (a.residual ? a.parts[0].w.n : 0);  // values read and written per row
  for (int i = 0; i < a.nParts; ++i) values += a.parts[i].w.n;
  return weightBytes(a) + 4 * a.m * values;
}
inline int64_t opBytes(const RmsnormArgs& a) { return a.dim * dtypeBytes(a.weightType) + 8 * a.rows * a.dim; }
inline int64_t opBytes(const AddArgs& a) { return 12 * a.count; }
inline int64_t opBytes(const SwigluArgs& a) { return 12 * a.rows * a.dim; }
inline int64_t opBytes(const SoftcapArgs& a) { return 8 * a.count; }
inline int64_t opBytes(const RouteArgs& a) { return a.n * (4ll * a.experts + 8ll * a.top); }
inline int64_t opBytes(const TakeRowsArgs& a) { return a.n * (8 * a.dim + 4); }
inline int64_t opBytes(const MixRowsArgs& a) { return a.n * (12 * a.dim + 8); }
inline int64_t opBytes(const RopeArgs& a) { return 8 * a.n * a.heads * a.headDim; }
inline int64_t opBytes(const ReorderArgs& a) { return 8 * a.n * a.heads * a.headDim; }
/// Bytes of K and V of the rows that queries see, counted once for all queries.
inline int64_t opBytes(const AttentionArgs& a) {
  const int64_t row = keyBytes(a.fmt) + valueBytes(a.fmt);
  return (a.rowsSeen ? a.rowsSeen : a.rows) * row + 8 * a.nQueries * a.queryHeads * a.fmt.headDim;
}
inline int64_t opBytes(const GateMlpArgs& a) {
  int64_t bytes = 4 * a.n * a.gates() * (a.headDim() + 1);
  for (const Weight& w : a.w) bytes += a.gates() * (weightBytes(w) + 4 * w.n);
  return bytes;
}
inline int64_t opBytes(const WriteRowsArgs& a) {
  return a.n * (recordBytes(a.fmt) + 8ll * a.fmt.kvHeads * a.fmt.headDim);
}
inline int64_t opBytes(const MoveRowsArgs& a) { return 2 * a.rows * recordBytes(a.fmt); }
inline int64_t opBytes(const ZeroRowsArgs& a) { return a.n * recordBytes(a.fmt); }
inline int64_t opBytes(const GatherRowsArgs& a) {
  const int64_t values = a.n * a.fmt.kvHeads * a.fmt.headDim;
  return (a.k ? a.n * keyBytes(a.fmt) + 4 * values : 0) + (a.v ? a.n * valueBytes(a.fmt) + 4 * values : 0);
}
inline int64_t opBytes(const VerifyRowsArgs& a) { return a.n * recordBytes(a.fmt); }
inline int64_t opBytes(const ReadTagsArgs& a) { return (a.tags ? 16 * a.n : 0) + (a.checksums ? 16 * a.n : 0); }
inline int64_t opBytes(const MatchTagsArgs& a) { return a.n * (8 * a.nPools + 12); }
inline int64_t opBytes(const RowNormsArgs& a) {
  return a.n * ((a.k ? keyBytes(a.fmt) + 4 : 0) + (a.v ? valueBytes(a.fmt) + 4 : 0));
}
inline int64_t opBytes(const ReadScalesArgs& a) {
  const int64_t scales = 8 * a.n * a.fmt.kvHeads;
  return (a.k ? scales : 0) + (a.v ? scales : 0) + (a.kAtMax ? a.n * keyBytes(a.fmt) : 0) +
      (a.vAtMax ? a.n * valueBytes(a.fmt) : 0);
}
inline int64_t opBytes(const DiffRowsArgs& a) { return 8 * a.n * a.dim; }
inline int64_t opBytes(const ArgmaxArgs& a) { return 4 * a.n; }
inline int64_t opBytes(const SoftmaxArgs& a) { return 8 * a.n; }
inline int64_t opBytes(const TopkArgs& a) { return 4 * a.n + 8 * a.k; }

}  // namespace kvlab::kernels
