// SPDX-License-Identifier: GPL-3.0-or-later
// Completes facts of the expression language in a line edit, word by word, with the help of each fact in the list. The
// facts come from the engine, once for a session. Made for a line; the line owns it. GUI thread.
#pragma once
#include <QCompleter>

#include "widgets/base/inspector_context.h"

class QLineEdit;
class QStandardItemModel;

namespace kvlab {

class ExpressionEdit : public QCompleter {
  Q_OBJECT
 public:
  ExpressionEdit(InspectorContext& context, QLineEdit& line);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void ask();
  void fill(const nlohmann::json& facts);
  void suggest();
  /// The beginning of the word before the cursor.
  int wordBegin() const;
  void take(const QString& word);

  InspectorContext& m_context;
  QLineEdit& m_line;
  QStandardItemModel* m_words;
  quint64 m_session = 0;  // session that the facts are from
};

}  // namespace kvlab
