// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/known.h"

#include <algorithm>
#include <fstream>

#include "core/api/manifest.h"

namespace kvlab::random_sessions {
namespace {

bool quantised(const std::string& type) { return type == "int8" || type == "fp8-e4m3"; }

void addStorage(const Manifest& m, std::set<std::string>& out) {
  for (const Layer layer : idRange<Layer>(0, 4)) {
    const std::string& layout = m.layoutOf(layer);
    out.insert("layout=" + layout.substr(0, layout.find(':')));
    out.insert(layout.starts_with("ring") ? "ring" : "no ring");
    if (quantised(m.kOf(layer)) || quantised(m.vOf(layer))) out.insert("quantised");
    if (!m.policyOf(layer).keepsAll()) out.insert("policy"), out.insert("policy=" + m.policyOf(layer).name);
    if (m.windowOf(layer) > 0) out.insert("mask");
    if (m.policyOf(layer).threshold) out.insert("threshold");
  }
  if (!m.layers.empty()) out.insert("layers differ");
  if (m.residentByHead()) out.insert("by head");
  if (m.ring.window) out.insert("window");
  if (m.ring.blockTokens > 1) out.insert("blocks");
  if (m.ring.tailOnly) out.insert("tail only");
}

void addRules(const Manifest& m, std::set<std::string>& out) {
  const json whole = m.toJson();
  for (const char* key : {"position", "key_phase", "executor", "new_rows", "residency", "dtype", "weights", "numerics"})
    out.insert(std::string(key) + "=" + whole[key].get<std::string>());
  out.insert("after_edit=" + (whole["after_edit"].is_object() ? "selective" : whole["after_edit"].get<std::string>()));
  if (m.shiftOnOverflow) out.insert("overflow=shift");
  if (m.brightness.compressor == "nearest") out.insert("culling");
  if (!m.brightness.start.empty() || m.brightness.max != 255) out.insert("brightness");
  if (m.faults) out.insert("faults");
  if (!m.probes) out.insert("no probes");
  if (m.sampling.temperature > 0) out.insert("sampled");
  if (m.historyBytes < 1 << 16) out.insert("short history");
  if (m.staging < 16) out.insert("small staging");
  if (m.capacity && m.capacity < 64) out.insert("small capacity");
  out.insert(m.model == "demo" ? "demo" : "synthetic");
  if (!m.wlod) return (void)out.insert("plain");
  out.insert("wlod");
  for (const char* key : {"attention", "gist", "lens", "recompute"})
    out.insert(std::string(key) + "=" + whole["wlod"][key].get<std::string>());
}

}  // namespace

std::set<std::string> featuresOf(const Sequence& sequence) {
  std::set<std::string> out;
  if (Result<Manifest> m = Manifest::fromJson(sequence.manifest)) addStorage(*m, out), addRules(*m, out);
  for (std::size_t i = 0; i + 1 < sequence.steps.size(); ++i) out.insert("did:" + sequence.steps[i].verb);
  return out;
}

bool Known::covers(const Failure& finding, const std::set<std::string>& features) const {
  const auto fits = [](const std::string& wanted, const std::string& is) { return wanted == "*" || wanted == is; };
  return fits(kind, finding.kind) && fits(verb, finding.verb) && fits(code, finding.code) &&
      std::all_of(when.begin(), when.end(), [&](const std::string& one) { return features.contains(one); });
}

Result<KnownList> KnownList::read(const std::string& path) {
  std::ifstream file(path);
  const json list = json::parse(file, nullptr, false);
  if (!list.is_array())
    return Error("bad_file", "the known findings were not read", path + " is no list", "see known.h");
  KnownList out;
  for (const json& one : list)
    out.m_all.push_back({one.value("kind", "?"), one.value("verb", "*"), one.value("code", "*"), one.value("what", ""),
                         one.value("when", std::vector<std::string>())});
  return out;
}

const Known* KnownList::find(const Failure& finding, const std::set<std::string>& features) const {
  const auto found =
      std::find_if(m_all.begin(), m_all.end(), [&](const Known& one) { return one.covers(finding, features); });
  return found == m_all.end() ? nullptr : &*found;
}

}  // namespace kvlab::random_sessions
