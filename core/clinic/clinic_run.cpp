// SPDX-License-Identifier: Apache-2.0
#include "core/clinic/clinic_run.h"

#include <algorithm>

#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

class ClinicRun {
 public:
  static Result<ClinicRun> open(const ClinicCase& one, const std::string& resources, const std::string& folder,
                                const std::string& level) {
    ClinicRun run(one, folder);
    const Manifest manifest = KV_TRY(Manifest::fromJson(clinicManifest(one, level)));
    run.m_session = KV_TRY(openSession(manifest, resources));
    return run;
  }

  Status steps(bool planted) {
    KV_TRY(all(m_case.before));
    m_plantedAt = m_session->state().tick;
    if (planted) KV_TRY(execute(*m_session, "bug", {{"name", m_case.bug}}));
    return all(m_case.after);
  }

  /// Steps until a check finds something: their number, or none within a scrub period.
  Result<std::optional<std::int64_t>> wait() {
    for (std::int64_t tick = 0; tick <= m_session->manifest().scrubPeriod; ++tick) {
      if (!findings().empty()) return std::optional(tick);
      KV_TRY(execute(*m_session, "step", json::object()));
    }
    return std::optional<std::int64_t>();
  }

  const std::vector<Finding>& findings() const { return m_session->health().alignment.findings(); }
  std::int64_t ticks() const { return m_session->state().tick.value() - m_plantedAt.value(); }

 private:
  ClinicRun(const ClinicCase& one, const std::string& folder) : m_case(one), m_folder(folder) {}

  Status all(const std::vector<ClinicStep>& steps) {
    for (const ClinicStep& step : steps) KV_TRY(execute(*m_session, step.verb, stepArgs(step, m_folder)));
    return ok();
  }

  const ClinicCase& m_case;
  const std::string& m_folder;
  std::unique_ptr<Session> m_session;
  Tick m_plantedAt;
};

}  // namespace

bool ClinicResult::caught(const ClinicCase& one) const {
  return healthy.empty() && finding && finding->violation.layer == one.found.layer &&
      finding->violation.ledger == one.found.row;
}

json stepArgs(const ClinicStep& step, const std::string& folder) {
  json args = step.args;
  for (auto& [key, value] : args.items())
    if (value.is_object() && value.size() == 1 && value.contains("temp"))
      value = folder + "/" + value["temp"].get<std::string>();
  return args;
}

Result<ClinicResult> runClinic(const ClinicCase& one, const std::string& resources, const std::string& folder) {
  ClinicResult out;
  {
    ClinicRun healthy = KV_TRY(ClinicRun::open(one, resources, folder, "full"));
    KV_TRY(healthy.steps(false));
    out.healthy = healthy.findings();
  }
  {
    ClinicRun full = KV_TRY(ClinicRun::open(one, resources, folder, "full"));
    KV_TRY(full.steps(true));
    out.findings = full.findings();
    out.ticks = full.ticks();
    const auto named =
        std::ranges::find(out.findings, one.found.check, [](const Finding& f) { return f.violation.invariant; });
    if (named != out.findings.end()) out.finding = *named;
  }
  ClinicRun cheap = KV_TRY(ClinicRun::open(one, resources, folder, "cheap"));
  KV_TRY(cheap.steps(true));
  out.cheapTicks = KV_TRY(cheap.wait());
  if (out.cheapTicks) out.cheapCheck = cheap.findings().front().violation.invariant;
  return out;
}

}  // namespace kvlab
