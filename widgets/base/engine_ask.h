// SPDX-License-Identifier: GPL-3.0-or-later
// What one reader asks of the engine and waits for. A reply that came too late is dropped: the session it is of is no
// longer shown, or the reader asks for something else by now. A member of the view that reads; the context outlives
// it. GUI thread.
#pragma once
#include <string>

#include "widgets/base/inspector_context.h"

namespace kvlab {

class EngineAsk {
 public:
  using Reply = InspectorContext::Reply;
  using TileReply = InspectorContext::TileReply;

  /// `receiver` owns the ask. `tag` tells its queries from those of others; commands need none.
  EngineAsk(InspectorContext& context, QObject* receiver, std::string tag = {});

  /// A verb that reads, in the place of what was asked before.
  void query(const std::string& verb, const nlohmann::json& args, Reply reply);
  /// One more of those that were asked together, told from them by a tag of its own.
  void alsoQuery(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply);
  /// A verb that runs in its turn, whatever is asked later; the reply to an earlier one is dropped.
  void submit(const std::string& verb, const nlohmann::json& args, Reply reply);
  /// A command of the registry, which answers with the reply to its verb or with why it did not run.
  void run(const QString& command, const nlohmann::json& args, Reply reply);
  void fetch(const TileRequest& request, TileReply reply);
  /// No reply of those under way is taken.
  void forget();
  /// A reply of the present session is still to come.
  bool waiting() const { return m_open > 0 && m_session == m_context.sessionNumber(); }

 private:
  quint64 begin();
  /// True if a reply to what was asked in that round is still wanted.
  bool end(quint64 round);

  InspectorContext& m_context;
  QObject* m_receiver;
  const std::string m_tag;
  quint64 m_round = 0, m_session = 0;
  int m_open = 0;  // replies of this round that are still to come
};

}  // namespace kvlab
