// SPDX-License-Identifier: Apache-2.0
// Reads a list of actions into changes of the context, and checks each action by itself. A planner derives from it: it
// says which positions there are, and lays the changes out. Reading ends at the first error. semantics.md, section 3.
// Pure; engine thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/action.h"
#include "core/api/error.h"
#include "core/api/ledger_view.h"

namespace kvlab {

/// One change of the context: rows to remove, and tokens to insert at the anchor.
struct Change {
  int place = 0;  // index in the action list
  std::int32_t anchor = 0;
  bool insert = false;
  RowState fate = RowState::Deleted;
  Source source = Source::Replacement;
  std::vector<Position> removed;
  std::vector<TokenId> tokens;
};

class ActionReader {
 protected:
  /// length: of the context. vocab: number of token ids. addSource: source recorded for tokens of `add`.
  ActionReader(std::int32_t length, std::int32_t vocab, Source addSource)
      : m_length(length), m_vocab(vocab), m_addSource(addSource) {}
  ~ActionReader() = default;

  /// Fills m_changes and m_adds in the order of the list, or sets m_error.
  void readAll(const std::vector<Action>& actions);
  /// Sets the error, unless an earlier one is set. It names the action `m_place`.
  void fail(std::string code, std::string field, nlohmann::json value, std::string why,
            std::string remedy = "correct the action and send the list again");

  /// True if the context has a token at the position; otherwise sets the error.
  virtual bool hasToken(Position position, const char* field) = 0;
  virtual void evict(const Evict& action) = 0;
  virtual void changeLod(NodeId node, bool expand) = 0;

  const std::int32_t m_length;
  const std::int32_t m_vocab;
  std::vector<Change> m_changes, m_adds;
  std::optional<Error> m_error;
  int m_place = 0;

 private:
  void read(const ReplacePair& action);
  void read(const Replace& action);
  void read(const Add& action);
  void read(const Delete& action);
  void read(const Insert& action);
  void read(const Evict& action) { evict(action); }
  void read(const Expand& action) { changeLod(action.node, true); }
  void read(const Collapse& action) { changeLod(action.node, false); }
  void replace(std::vector<Position> positions, const std::vector<TokenId>& tokens);
  void checkTokens(const std::vector<TokenId>& tokens, const char* field);

  const Source m_addSource;
};

}  // namespace kvlab
