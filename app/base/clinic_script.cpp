// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/clinic_script.h"

#include "app/base/session_script.h"
#include "core/clinic/clinic_run.h"

namespace kvlab {

using nlohmann::json;

QStringList clinicScript(const ClinicCase& one, const std::vector<VerbInfo>& verbs, std::optional<std::int64_t> blind,
                         const QString& folder) {
  json manifest = clinicManifest(one, "full");
  if (!manifest.contains("model")) manifest["model"] = "demo";
  QStringList out{"var " + openingLine({{"manifest", manifest}}) + ";"};
  const auto call = [&](const ClinicStep& step) {
    out << callLine(verbs, step.verb, stepArgs(step, folder.toStdString())) + ";";
  };
  for (const ClinicStep& step : one.before) call(step);
  out << (blind ? QString("s.bug(\"\", {blind: %1});").arg(*blind)
                : QString("s.bug(\"%1\");").arg(QString::fromStdString(one.bug)));
  for (const ClinicStep& step : one.after) call(step);
  out << "for (const one of s.invariants()) if (!one.ok) log(one.id + \": \" + one.detail);";
  return out;
}

}  // namespace kvlab
