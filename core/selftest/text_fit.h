// SPDX-License-Identifier: Apache-2.0
// Tests whether another setting of a checkpoint predicts a text better than its own. It takes differences token by
// token, so that tokens that are hard for both cancel out. Pure; any thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/selftest/self_test.h"

namespace kvlab {

inline constexpr double kFitLimit = 0.02;  // nats a token that another setting may gain

/// The best of the other settings so far.
class TextFit {
 public:
  /// own: nats for each token.
  explicit TextFit(std::vector<double> own) : m_own(std::move(own)) {}

  /// A setting that predicts worse, or hardly better, is no rival.
  void compare(std::span<const double> other, const std::string& setting);

  double ownMean() const;  // nats a token
  /// Its own setting predicts the text better than guessing: else there is nothing to compare.
  bool predicts(std::int32_t vocab) const;
  /// A test's figure for the comparison; more: text behind its own.
  SelfTestFigure figure(std::int32_t vocab, const std::string& more = {}) const;
  /// Other settings that did no better in a shorter comparison.
  void alsoTried(std::size_t settings) { m_compared += static_cast<int>(settings); }
  /// By how much the best other setting is better, nats a token; 0 = none is.
  double gain() const { return m_gain; }
  const std::string& best() const { return m_best; }
  int compared() const { return m_compared; }

 private:
  std::vector<double> m_own;
  double m_gain = 0;
  std::string m_best;
  int m_compared = 0;
};

}  // namespace kvlab
