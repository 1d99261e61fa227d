// SPDX-License-Identifier: Apache-2.0
// The state that a kind of session keeps between two ticks, and the values that follow from it. The base class is the
// state of plain sessions, which add nothing. Immutable once it stands in a CacheState, and shared with history. Engine
// thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/error.h"
#include "core/api/snapshot.h"

namespace kvlab {

struct CacheState;
class StateBuffers;
class StateHasher;

/// Tokens [begin, end) of the text.
struct TokenSpan {
  std::int32_t begin = 0, end = 0;
};

class KindState {
 public:
  virtual ~KindState() = default;
  /// True if context, phases and maps are derived from this state: rows see those that the kind lists for them, and a
  /// row that has left may come back.
  virtual bool derivesContext() const { return false; }
  /// A copy with its own columns, for a session on another thread.
  virtual std::shared_ptr<const KindState> ownCopy() const;
  virtual void hash(StateHasher&) const {}
  virtual void addTo(StateBuffers&) const {}
  /// The state that a rollback of the open draft restores, whose rows keep their slots; null = no draft is open.
  virtual const CacheState* draftedFrom() const { return nullptr; }

  /// The tokens that the row at a context position stands for.
  virtual TokenSpan tokensAt(Position position) const { return {position.value(), position.value() + 1}; }
  /// Blur of the rotation at which the row at a context position is read, in phases.
  virtual double blurAt(Position) const { return 0; }
  /// Error, if a pin cannot keep the row where it is.
  virtual Status pinnable(const CacheState& /*state*/, LedgerId) const { return ok(); }
  /// The rows of a layer that stand in the context; null = all of them.
  virtual std::shared_ptr<const ResidencyView> inContext(const CacheState& /*state*/,
                                                         const ResidencyView& /*stored*/) const {
    return nullptr;
  }

  /// For checks: the input of a row that is no token, made anew from `embed` where it can be; none = it is a token.
  using Embedding = std::function<std::vector<double>(TokenId)>;
  virtual std::optional<std::vector<double>> inputOf(const CacheState& /*state*/, LedgerId,
                                                     const Embedding& /*embed*/) const {
    return std::nullopt;
  }
  /// For checks: an edit was told to leave the row as it was.
  virtual bool leftAsItWas(LedgerId) const { return false; }
};

/// The state of every plain session.
inline const std::shared_ptr<const KindState>& plainKindState() {
  static const auto state = std::make_shared<const KindState>();
  return state;
}

inline std::shared_ptr<const KindState> KindState::ownCopy() const { return plainKindState(); }

}  // namespace kvlab
