// SPDX-License-Identifier: GPL-3.0-or-later
// The bug clinic: known bugs of KV caches, each with its story, its script and the check that finds it. A case opens as
// a session in which the bug is planted; a blind case does not say which bug that is. Not modal; deletes itself when
// closed. GUI thread.
#pragma once
#include <QDialog>
#include <optional>
#include <vector>

#include "core/api/verb.h"
#include "core/clinic/clinic_run.h"

class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QTextBrowser;

namespace kvlab {

class ClinicPanel : public QDialog {
  Q_OBJECT
 public:
  ClinicPanel(std::vector<ClinicCase> cases, std::vector<VerbInfo> verbs, QWidget* parent);
  /// The script of the case runs: nothing asks any more whether the shown session may end.
  void begun();

 signals:
  /// A script that opens a case.
  void opened(const QString& script);
  void helpWanted();

 private:
  void addButtons();
  void showCase(int at);
  QString page(const ClinicCase& one) const;
  void openCase();
  void openBlind();
  /// Asks for the case; `open` is the text of the panel once the case opens.
  void open(const QString& script, const QString& open);
  void reveal();
  void copyScript();
  const ClinicCase& chosen() const;

  std::vector<ClinicCase> m_cases;
  std::vector<VerbInfo> m_verbs;
  QLineEdit* m_number = nullptr;        // of the next blind case; empty: it is drawn
  std::optional<std::int64_t> m_blind;  // the number of the open blind case, until it is revealed
  QListWidget* m_list;
  QTextBrowser* m_page;
  QLabel* m_state;
  QString m_opening;  // said when the case opens
  QPushButton* m_reveal = nullptr;
};

}  // namespace kvlab
