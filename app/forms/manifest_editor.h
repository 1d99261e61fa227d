// SPDX-License-Identifier: GPL-3.0-or-later
// Edits a manifest, in a form over all keys and as JSON beside it; each follows the other, and a line below names the
// error. GUI thread.
#pragma once
#include <QWidget>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/api/error.h"

class QLabel;
class QPlainTextEdit;
class QVBoxLayout;

namespace kvlab {

class JobList;
class ModelOffer;
class SessionForm;

class ManifestEditor : public QWidget {
  Q_OBJECT
 public:
  ManifestEditor(JobList& jobs, QWidget* parent);
  SessionForm& form() { return *m_form; }
  /// Above the form.
  QVBoxLayout& head() { return *m_head; }
  /// As it is written; null where the text is no JSON object.
  nlohmann::json manifest() const;
  void setManifest(const nlohmann::json& manifest);
  /// Takes out every key but the model.
  void resetAll();
  /// False where the engine would refuse the manifest; the line below says why.
  bool valid();
  /// Sets the complete manifest that the edited changes apply to.
  void setBase(const nlohmann::json& base);
  /// Above the JSON.
  void setCaption(const QString& caption);
  /// Shows an error in the line below.
  void say(const Error& error);
  /// A further check of a manifest that the engine would take.
  using Check = std::function<std::optional<Error>(const nlohmann::json& manifest)>;
  void setCheck(Check check) { m_check = std::move(check); }

 signals:
  /// The text is another JSON object, right or wrong.
  void changed(const nlohmann::json& manifest);
  /// The text has changed; valid as valid() would say.
  void checked(bool valid);

 private:
  void set(const QString& key, const nlohmann::json& value);
  /// The form shows the content of the JSON, and the line below its error.
  void follow();
  void sayWrong(const QString& text);
  void sayMissing(const Error& error);
  std::optional<Error> errorOf(const nlohmann::json& manifest) const;

  Check m_check;
  nlohmann::json m_policy;  // policy of the base, as short as it can be written
  QPlainTextEdit* m_json;
  QLabel *m_problem, *m_caption;
  ModelOffer* m_offer;
  SessionForm* m_form;
  QVBoxLayout* m_head;
};

}  // namespace kvlab
