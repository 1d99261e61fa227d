// SPDX-License-Identifier: GPL-3.0-or-later
// Sends a view's requests to the engine and drops late replies: those of a closed session, and those that a newer
// request replaces. A member of its view, which is not ready while a reply is outstanding; the context outlives it. GUI
// thread.
#pragma once
#include <string>

#include "widgets/base/inspector_view.h"

namespace kvlab {

class EngineAsk {
 public:
  using Reply = InspectorContext::Reply;
  using TileReply = InspectorContext::TileReply;

  /// `tag` separates the queries from those of other views; commands need no tag.
  EngineAsk(InspectorContext& context, InspectorView* view, std::string tag = {});

  /// Queries a verb that reads; replaces earlier queries.
  void query(const std::string& verb, const nlohmann::json& args, Reply reply);
  /// Queries together with query() a verb that reads or measures, as of the shown tick.
  void alsoQueryShown(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply);
  /// Queries together with query(), under a tag of its own.
  void alsoQuery(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply);
  /// Runs a verb in order, whatever is requested later; drops the reply to an earlier verb.
  void submit(const std::string& verb, const nlohmann::json& args, Reply reply);
  /// Runs a command of the registry. The reply is that of its verb, or the reason why the command did not run.
  void run(const QString& command, const nlohmann::json& args, Reply reply);
  void fetch(const TileRequest& request, TileReply reply);
  /// Drops all outstanding replies.
  void forget();
  /// True if a reply of the shown session is outstanding.
  bool waiting() const { return m_open > 0 && m_session == m_context.sessionNumber(); }

 private:
  /// Begins a request. Its answer goes to `take` if its round is still the present one. The view may fail on the
  /// answer: that is shown as an error.
  template <class Take>
  auto begin(Take take);

  InspectorContext& m_context;
  InspectorView* m_view;
  const std::string m_tag;
  quint64 m_round = 0, m_session = 0;
  int m_open = 0;  // outstanding replies of this round
};

}  // namespace kvlab
