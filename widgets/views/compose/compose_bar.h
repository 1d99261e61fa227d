// SPDX-License-Identifier: GPL-3.0-or-later
// Builds actions from rows and words. The rows are the selected rows, or the focused row; the engine tokenises the
// words. GUI thread.
#pragma once
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QWidget>
#include <functional>
#include <vector>

#include "core/api/action.h"
#include "widgets/base/engine_ask.h"

namespace kvlab {

enum class EditVerb { ReplacePair, Replace, InsertBefore, Append, Delete, Evict };
inline constexpr int kEditVerbs = 6;

class ComposeBar : public QWidget {
  Q_OBJECT
 public:
  /// `view` is not ready while the engine tokenises the words.
  ComposeBar(InspectorContext& context, InspectorView* view);
  void build(EditVerb verb);
  void refresh();

 signals:
  void composed(const std::vector<kvlab::Action>& actions);
  /// The reason why no action was built, and the remedy.
  void refused(const QString& why);

 private:
  void makeButtons();
  void wordsChanged();
  void enable();
  void showTokens();
  void withTokens(std::function<void()> then);
  std::vector<Action> actionsFor(EditVerb verb, const std::vector<Position>& rows) const;
  QString problem(EditVerb verb, const std::vector<Position>& rows) const;

  InspectorContext& m_context;
  QLabel *m_rows, *m_tokens;
  QLineEdit* m_words;
  QPushButton* m_verbs[kEditVerbs] = {};
  std::vector<TokenId> m_ids;
  QString m_idsOf;  // the words that m_ids belong to
  std::function<void()> m_then;
  EngineAsk m_ask;
};

}  // namespace kvlab
