// SPDX-License-Identifier: GPL-3.0-or-later
// A form over the keys of a manifest, made from their list (core/api/manifest_list.h): a new key has a control without
// a line here. A key that is left out is empty, and its default stands in its place. GUI thread.
#pragma once
#include <QWidget>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QScrollArea;

namespace kvlab {

struct ManifestKey;

class SessionForm : public QWidget {
  Q_OBJECT
 public:
  /// `models`: names to choose from, besides paths.
  SessionForm(const QStringList& models, QWidget* parent);
  ~SessionForm() override;
  void setManifest(const nlohmann::json& manifest);
  /// Marks the control of a key, as "wlod.budget", and scrolls to it; an empty key ends the mark.
  void mark(const QString& key);
  /// Keys that have a control.
  QStringList keys() const;
  QWidget* control(const QString& key) const;

 signals:
  /// The person gave a key a value, or emptied it: null.
  void edited(const QString& key, const nlohmann::json& value);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Field;
  void addField(const ManifestKey& key, QFormLayout* group, const QStringList& choices);
  void search(const QString& text);
  void tell(Field& field);

  std::vector<std::unique_ptr<Field>> m_fields;
  QScrollArea* m_scroll = nullptr;
  QString m_marked;
  bool m_showing = false;  // values come from a manifest, not from the person
};

}  // namespace kvlab
