// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the specification of a sweep in a form, with its JSON beside it; each follows the other. Says how many cells
// it has, saves it, runs it. Not modal; deletes itself when closed. GUI thread.
#pragma once
#include <QDialog>
#include <QTimer>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/api/error.h"

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace kvlab {

class SessionForm;
class SweepAxes;

struct SweepForm {
  nlohmann::json spec;  // to begin with
  /// Cells of a specification; errors as in core_sweep.h. Any thread.
  std::function<Result<std::int64_t>(const nlohmann::json& spec)> count = {};
  double pace = -1;  // seconds a cell took in the last sweep; -1 = not known
};

class SweepPanel : public QDialog {
  Q_OBJECT
 public:
  SweepPanel(SweepForm form, QWidget* parent);

 signals:
  /// {spec, out?} as JSON.
  void chosen(const QString& request);

 private:
  QWidget* sweepPage();
  QLineEdit* makeText(const char* key, const QString& label, const QString& tip, const QString& empty);
  QLineEdit* addText(QFormLayout& form, const char* key, const QString& label, const QString& tip,
                     const QString& empty);
  void addPrompts(QFormLayout& form);
  void addMeasures(QFormLayout& form);
  void addButtons();
  /// The form's values go into the JSON, which the form then follows.
  void take();
  nlohmann::json prompts(nlohmann::json all) const;
  static QString expressionsText(const nlohmann::json& list);
  nlohmann::json expressions(nlohmann::json given) const;
  void follow();
  void fill(const nlohmann::json& spec);
  void count();
  void say(const Result<std::int64_t>& cells);
  nlohmann::json spec() const;
  void setSpec(const nlohmann::json& spec);
  void openFile();
  void saveFile();
  void run();

  SweepForm m_form;
  QPlainTextEdit* m_json;
  QLabel *m_problem, *m_cells;
  QLineEdit *m_name = nullptr, *m_seeds = nullptr, *m_stories = nullptr, *m_questions = nullptr, *m_out = nullptr;
  QComboBox *m_prompts = nullptr, *m_ask = nullptr;
  std::vector<QCheckBox*> m_measures;
  QLineEdit* m_expressions = nullptr;
  SweepAxes* m_axes;
  SessionForm* m_base;
  QPushButton* m_run = nullptr;
  QTimer m_wait;
  int m_question = 0;  // the last one that counts cells
  bool m_filling = false;
};

}  // namespace kvlab
