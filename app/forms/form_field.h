// SPDX-License-Identifier: GPL-3.0-or-later
// One key of a manifest in a form: label, control, a button that looks for a file where the key is a path, and a button
// back to the default. GUI thread.
#pragma once
#include <QStringList>
#include <QWidget>
#include <nlohmann/json.hpp>

class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace kvlab {

struct ManifestKey;

/// The label of a key, by its last part: "key_phase" is "Key phase", "wlod.start_gists" is "Start gists".
QString wordsOfKey(const QString& key);
/// The manifest value that a text stands for; a text that does not fit stays a text, and the manifest's check names it.
nlohmann::json valueOf(const QString& text, const std::string& type);

class FormField : public QWidget {
  Q_OBJECT
 public:
  /// `choices`: the possible values; `open`: other values can be typed as well.
  FormField(const ManifestKey& key, const QStringList& choices, bool open, QWidget* parent);

  const QString& key() const { return m_key; }
  QLabel* label() const { return m_label; }
  QWidget* control() const;
  nlohmann::json value() const;
  bool given() const { return !text().isEmpty(); }
  /// Shows a value of a manifest. A text that means the same stays: "0." is on the way to "0.5".
  void show(const nlohmann::json& value);
  /// Bold where the key is given, faint where it has no effect, in the colour of errors where it is refused.
  void dress(bool wrong);
  /// Says why the key has no effect; empty = it has one.
  void setIdle(const QString& why);
  /// The text of the value in force where the key is not given; empty = its default.
  void setOtherwise(const QString& text);
  /// Locks the key here, with the reason; empty = it can be changed.
  void lock(const QString& why);
  bool locked() const { return !m_locked.isEmpty(); }
  const QString& whyLocked() const { return m_locked; }
  bool idle() const { return !m_idle.isEmpty(); }
  const QString& whyIdle() const { return m_idle; }
  /// True if key and meaning have all these words.
  bool matches(const QStringList& words) const;

 signals:
  /// The person gave the key another value.
  void edited();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void makeChoice(const QStringList& choices, bool open);
  void addBrowse();
  void browse(bool folder);
  QString defaultWords() const;
  QString text() const;
  void setText(const QString& text);
  bool closed() const;
  void tell();
  void refreshTip();
  void refreshIcon();

  QString m_key, m_meaning, m_otherwise, m_idle, m_locked;
  std::string m_type;
  QComboBox* m_choice = nullptr;  // or a line
  QLineEdit* m_line = nullptr;
  QLabel* m_label;
  QToolButton *m_browse = nullptr, *m_reset = nullptr;
  bool m_showing = false;  // values come from a manifest, not from the person
};

}  // namespace kvlab
