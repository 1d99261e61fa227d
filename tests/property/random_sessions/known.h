// SPDX-License-Identifier: Apache-2.0
// The list of findings that are known: known.json, a list of
//   {"kind", "verb", "code", "when": [features], "what": one line}
// An entry covers a finding of its kind, verb and code ("*" = any) whose session has all features of "when".
// Features describe the session and its calls: "wlod", "layout=paged", "did:undo". Values; any thread.
#pragma once
#include <set>

#include "property/random_sessions/play.h"

namespace kvlab::random_sessions {

/// Features of the manifest, and of the steps before the last one.
std::set<std::string> featuresOf(const Sequence& sequence);

struct Known {
  std::string kind, verb, code, what;
  std::vector<std::string> when;
  bool covers(const Failure& finding, const std::set<std::string>& features) const;
};

class KnownList {
 public:
  static Result<KnownList> read(const std::string& path);
  /// The first entry that covers it; null where none does.
  const Known* find(const Failure& finding, const std::set<std::string>& features) const;
  const std::vector<Known>& all() const { return m_all; }

 private:
  std::vector<Known> m_all;
};

}  // namespace kvlab::random_sessions
