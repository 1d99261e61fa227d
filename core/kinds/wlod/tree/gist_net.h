// SPDX-License-Identifier: Apache-2.0
// A GistNet maps 32 embeddings, or 32 gists of the level below, to one vector in the space of token embeddings. All
// memory is the host's. A gist has the same bits whether it is made alone or with others. One owner; any thread.
//
// `mean` is the reference. A trained network comes from a safetensors file (resources/gists/train.py writes one;
// semantics.md, section 8). Tensors per level n, with d = hidden and sizes H, m of the level; a file without level 2
// uses level 1 for both:
//
//   levels.{n}.norm      [d]       levels.{n}.w1  [m, H*d]   levels.{n}.b1  [m]
//   levels.{n}.query     [H, d]    levels.{n}.w2  [d, m]     levels.{n}.b2  [d]
//   levels.{n}.position  [H, 32]
//
// For children x_i: u_i = rmsnorm(x_i) * norm; a_hi = softmax over i of (query_h . u_i + position_hi); p_h = sum_i a_hi
// x_i; z = (p_1 .. p_H) / rms; gist = mean(x) + w2 silu(w1 z + b1) + b2. With w2 = b2 = 0 the gist is the mean.
// Metadata: `kind` = "gist_net", `model` (fingerprint of the model it was trained for, text), and, where they were
// measured, `measured` (readGistFigures).
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/added.h"
#include "core/api/error.h"
#include "core/api/tree_node.h"
#include "core/api/wlod_view.h"
#include "kernels/backend/backend.h"

namespace kvlab {

class GistNet {
 public:
  GistNet(int hidden, std::string name, std::string model, std::vector<GistFigures> figures)
      : m_hidden(hidden), m_name(std::move(name)), m_model(std::move(model)), m_figures(std::move(figures)) {}
  virtual ~GistNet() = default;
  const std::string& name() const { return m_name; }  // "mean", the file, or the rule that was added
  /// Fingerprint of the model that the network was trained for; empty = any model.
  const std::string& model() const { return m_model; }
  /// Losses with the network, by level; empty = not measured.
  const std::vector<GistFigures>& figures() const { return m_figures; }
  /// children [n, 32, hidden] of nodes of `level` -> out [n, hidden]. Error bad_gist: a rule from outside failed.
  virtual Status gists(int level, const float* children, std::int64_t n, float* out) const = 0;

 protected:
  const std::int64_t m_hidden;

 private:
  std::string m_name, m_model;
  std::vector<GistFigures> m_figures;
};

std::shared_ptr<const GistNet> meanGistNet(int hidden);
/// Gists of a rule that was added, a GistRule (core/policy/outside.h).
std::shared_ptr<const GistNet> addedGistNet(int hidden, AddedUse use);

/// Errors: bad_file (no safetensors file), bad_gist_net (with the tensor or the metadata key as field). `host`: a
/// backend in host memory that computes the gists.
Result<std::shared_ptr<const GistNet>> loadGistNet(const std::string& path, int hidden,
                                                   std::shared_ptr<kernels::Backend> host);

/// The mean of 32 vectors: sums in ascending order, then one multiplication. children [32, hidden] -> out [hidden].
inline void meanOf(const float* children, std::int64_t hidden, float* out) {
  std::copy(children, children + hidden, out);
  for (std::int64_t i = 1; i < kGistBlock; ++i)
    for (std::int64_t d = 0; d < hidden; ++d) out[d] += children[i * hidden + d];
  for (std::int64_t d = 0; d < hidden; ++d) out[d] *= 1.0f / kGistBlock;
}

// Losses with gists, as their training has measured them (GistFigures in core/api/wlod_view.h), and the notice about
// them when a session opens. A file of a gist network carries its figures as metadata `measured`, a JSON list with one
// object per level: {"level": 1, "tokens": n, "nll": {"full", "trained", "mean", "truncation", "nothing"}, "kl": the
// same}. Pure; any thread.

/// Error bad_gist_net (field measured) names the error in the text; `file` names the file.
Result<std::vector<GistFigures>> readGistFigures(std::string_view text, const std::string& file);

/// The reason why the gists may be worth less than the same number of last tokens; empty if measurements show that they
/// are better.
std::string gistNotice(const GistNet& net);

}  // namespace kvlab
