// SPDX-License-Identifier: GPL-3.0-or-later
// Chooses the text that a new session begins with: none, the demo's story, a typed text, or a text file. GUI thread.
#pragma once
#include <QWidget>
#include <nlohmann/json.hpp>

class QComboBox;
class QLineEdit;
class QToolButton;

namespace kvlab {

class StartField : public QWidget {
  Q_OBJECT
 public:
  explicit StartField(QWidget* parent);
  /// Null for none; see session_request.h.
  nlohmann::json start() const;
  /// The story belongs to the demo model: another model begins empty, until the person chooses.
  void suit(bool demo);

 private:
  void refresh();

  QComboBox* m_kind;
  QLineEdit* m_text;
  QToolButton* m_browse;
  bool m_chosen = false;
};

}  // namespace kvlab
