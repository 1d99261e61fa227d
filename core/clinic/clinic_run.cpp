// SPDX-License-Identifier: Apache-2.0
#include "core/clinic/clinic_run.h"

#include <algorithm>

#include "core/bugs/bug_kind.h"
#include "core/model/files/strict_json.h"
#include "core/parts/kinds.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// Reads one file and keeps the first complaint.
class CaseReader {
 public:
  CaseReader(std::string path, json file) : m_path(std::move(path)), m_file(std::move(file)) {}

  Result<ClinicCase> read(const BugKind& bug) {
    ClinicCase out;
    out.bug = bug.name;
    out.title = bug.title;
    static constexpr const char* kKeys[] = {"bug",   "story", "threads", "session", "before",
                                            "after", "found", "view",    "look"};
    for (const auto& [key, value] : m_file.items())
      if (std::ranges::find(kKeys, key) == std::end(kKeys)) complain(key, "is not a key of a case");
    if (text("bug") != bug.name) complain("bug", "is not the name of the file");
    out.story = text("story");
    out.view = text("view");
    out.look = text("look");
    for (const json& thread : list("threads"))
      if (thread.is_string()) out.threads.push_back(thread.get<std::string>());
      else complain("threads", "is not a list of texts");
    out.session = m_file.value("session", json::object());
    if (!out.session.is_object()) complain("session", "is not an object");
    else if (const auto manifest = Manifest::fromJson(out.session); !manifest)
      complain("session", manifest.error().why);
    out.before = steps("before");
    out.after = steps("after");
    found(out);
    if (m_error) return *m_error;
    return out;
  }

 private:
  void complain(const std::string& key, const std::string& why) {
    if (!m_error)
      m_error = Error("bad_file", m_path, key + " " + why, "compare with the other files in the folder", key,
                      m_file.value(key, json()));
  }
  std::string text(const char* key) {
    const auto found = m_file.find(key);
    if (found != m_file.end() && found->is_string()) return found->get<std::string>();
    complain(key, "is not a text");
    return {};
  }
  json list(const char* key) {
    const auto found = m_file.find(key);
    if (found != m_file.end() && found->is_array()) return *found;
    complain(key, "is not a list");
    return json::array();
  }

  std::vector<ClinicStep> steps(const char* key) {
    std::vector<ClinicStep> out;
    for (json step : list(key)) {
      const std::string verb = step.is_object() ? step.value("verb", "") : "";
      if (!verbNamed(verb))
        complain(key, verb.empty() ? "has a step without a verb" : "names " + verb + ", which is not a verb");
      if (step.is_object()) step.erase("verb");
      out.push_back({verb, std::move(step)});
    }
    return out;
  }

  void found(ClinicCase& out) {
    const json found = m_file.value("found", json());
    const std::string check = found.is_object() ? found.value("check", "") : "";
    if (std::ranges::none_of(invariants(), [&](const Invariant& one) { return one.id == check; }))
      return complain("found", "does not name an invariant");
    out.found.check = check;
    const auto number = [&](const char* key) -> std::optional<std::int32_t> {
      const json value = found.value(key, json());
      if (value.is_null()) return std::nullopt;
      if (!value.is_number_integer()) complain("found", std::string("has a ") + key + " that is not a number");
      return value.is_number_integer() ? std::optional(value.get<std::int32_t>()) : std::nullopt;
    };
    if (const auto layer = number("layer")) out.found.layer = CacheLayer(*layer);
    if (const auto row = number("row")) out.found.row = LedgerId(*row);
  }

  std::string m_path;
  json m_file;
  std::optional<Error> m_error;
};

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

Result<std::vector<ClinicCase>> readClinic(const std::string& resources) {
  std::vector<ClinicCase> out;
  for (const BugKind& bug : bugKinds()) {
    const std::string path = resources + "/clinic/" + std::string(bug.name) + ".json";
    json file = KV_TRY(readJsonFile(path, "bad_file", {.uniqueKeys = true}));
    if (!file.is_object())
      return Error("bad_file", path, "it is no JSON object", "compare with the other files in the folder");
    out.push_back(KV_TRY(CaseReader(path, std::move(file)).read(bug)));
  }
  return out;
}

std::string drawnBug(std::int64_t seed) { return std::string(bugDrawn(static_cast<std::uint64_t>(seed)).name); }

json clinicManifest(const ClinicCase& one, const std::string& level) {
  json manifest = one.session;
  manifest["faults"] = true;
  manifest["check"] = {{"level", level}};
  return manifest;
}

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
