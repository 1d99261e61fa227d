// SPDX-License-Identifier: Apache-2.0
// Sessions for tests, driven through their verbs as scripts drive them.
#pragma once
#include <QDir>
#include <QTemporaryDir>
#include <QtTest>

#include "support/scripted.h"

namespace kvlab::test {

using nlohmann::json;

inline json tinyManifest(const json& more = json::object()) {
  json manifest{{"model", "synthetic:tiny"}, {"dtype", "f32"},  {"threads", 1},
                {"history_bytes", 1 << 24},  {"capacity", 256}, {"absolute_overflow", "shift"}};
  manifest.update(more);
  return manifest;
}

inline std::unique_ptr<Session> opened(const json& manifest) {
  Result<Manifest> m = Manifest::fromJson(manifest);
  if (!m) qFatal("%s", m.error().text().c_str());
  Result<std::unique_ptr<Session>> s = openSession(*m, KVLAB_RESOURCES_DIR);
  if (!s) qFatal("%s", s.error().text().c_str());
  return s.take();
}

/// The verb's result; ends the test program if it fails.
inline json call(Session& s, const char* verb, const json& args = json::object()) {
  Result<json> r = test::scripted(s, verb, args);
  if (!r) qFatal("%s: %s", verb, r.error().text().c_str());
  return r.take();
}

/// The code of the verb's error, "" where there is none.
inline std::string codeOf(Session& s, const char* verb, const json& args = json::object()) {
  Result<json> r = test::scripted(s, verb, args);
  return r ? "" : r.error().code;
}

inline std::vector<int> someIds(int n, int vocab, unsigned seed) {
  std::vector<int> ids;
  for (int i = 0; i < n; ++i) ids.push_back(static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 8) % vocab);
  return ids;
}

/// "" or the first invariant that does not hold.
inline QString broken(Session& s) {
  for (const InvariantState& invariant : s.check(true))
    if (!invariant.ok) return QString::fromStdString(std::string(invariant.id) + ": " + invariant.detail);
  return {};
}

/// A prompt, ticks, edits, pins and brightness: something in every column of the state.
inline void live(Session& s, unsigned seed = 1) {
  call(s, "promptIds", {{"ids", someIds(24, 200, seed)}});
  call(s, "step", {{"n", 3}});
  call(s, "inject",
       {{"actions",
         {{{"action", "replace_pair"}, {"original_pos1", 4}, {"original_pos2", 5}, {"new_token_ids", {7}}},
          {{"action", "delete"}, {"position", 11}},
          {{"action", "insert"}, {"position", 20}, {"token_ids", {9, 10}}}}}});
  call(s, "step", {{"n", 2}});
  call(s, "pin", {{"ledger", 2}});
  call(s, "setBrightness", {{"ledger", s.state().context[3].value()}, {"value", 17}});
}

}  // namespace kvlab::test
