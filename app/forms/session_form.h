// SPDX-License-Identifier: GPL-3.0-or-later
// A form over the keys of a manifest, made from their list (core/api/manifest_list.h): a new key has a control without
// a line here. A key that is left out is empty, and its default stands in its place. Keys that have no effect are
// folded away under a line that says why. GUI thread.
#pragma once
#include <QStringList>
#include <QWidget>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

class QScrollArea;
class QVBoxLayout;

namespace kvlab {

class FormField;
struct ManifestKey;

class SessionForm : public QWidget {
  Q_OBJECT
 public:
  /// `models`: names to choose from, besides paths.
  SessionForm(const QStringList& models, QWidget* parent);
  ~SessionForm() override;
  void setManifest(const nlohmann::json& manifest);
  /// The manifests to come are changes of this one: its values stand where a key is not given.
  void setBase(const nlohmann::json& base);
  /// Keys for which `why` has a reason are locked and stand under a line with the reason.
  void lock(const std::function<QString(const QString& key)>& why);
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
  struct Group;
  Group& groupOf(const QString& name, QWidget* content, QVBoxLayout* column);
  void addField(const ManifestKey& key, Group& group, const QStringList& models);
  void sayBase(bool ownPolicy);
  void search(const QString& text);
  /// Shows the rows that match the search, else those that have an effect or are unfolded.
  void arrange();
  void arrange(Group& group);

  nlohmann::json m_base = nlohmann::json::object();
  std::vector<std::unique_ptr<Group>> m_groups;
  std::vector<FormField*> m_fields;
  QScrollArea* m_scroll = nullptr;
  QStringList m_words;  // searched for
  QString m_marked;
};

}  // namespace kvlab
