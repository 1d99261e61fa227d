// SPDX-License-Identifier: Apache-2.0
// Expressions whose values are published with every state, in the language of core/watch/expression.h:
// "rows(layer==3)", "kl", "brightness(ledger==12)". Owned by a session; engine thread.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/api/aside_views.h"
#include "core/watch/expression.h"

namespace kvlab {

class Session;

class Watches {
 public:
  /// The number of the new watch.
  int add(Expression expression);
  bool remove(int id);
  void clear();
  /// Takes these in place of all that there are, with their numbers.
  void restore(std::vector<std::pair<int, Expression>> watches);
  /// Numbers and expressions without values, in their order.
  std::vector<WatchView> list() const;
  /// Asks all of them of the session's present state, unless that was done. Makes the measurements that they ask for.
  /// A number that is not finite is not known, and so is a fact of a state before that is not kept.
  void ask(Session& session);
  /// The next ask() asks again.
  void forget() { m_asked = -1; }
  /// Views in their order, with the values of the last ask(); null = none. Shared until something changes.
  std::shared_ptr<const std::vector<WatchView>> views() const { return m_views; }

 private:
  struct Watch {
    int id = 0;
    Expression expression;
  };

  std::shared_ptr<const std::vector<WatchView>> asked(Session& session) const;

  std::vector<Watch> m_watches;
  int m_next = 1, m_asked = -1;  // entry of the timeline; -1 = none
  bool m_asking = false;         // a measurement publishes
  std::shared_ptr<const std::vector<WatchView>> m_views;
};

}  // namespace kvlab
