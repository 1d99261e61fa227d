// SPDX-License-Identifier: Apache-2.0
#include "planted/driver/play.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "core/session/truth.h"
#include "core/verbs/verbs.h"

namespace kvlab::planted_faults {
namespace {

using nlohmann::json;

[[noreturn]] void end(const std::string& why) {
  std::cerr << why << std::endl;
  std::exit(2);
}

std::vector<int> ids(int count, unsigned seed, int vocabulary) {
  std::mt19937 random(seed);
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(3 + static_cast<int>(random() % static_cast<unsigned>(vocabulary - 3)));
  return out;
}

/// "$WORK/x" in an argument is a file of the work folder.
json placed(json value, const std::string& work) {
  if (value.is_string() && value.get<std::string>().starts_with("$WORK"))
    return work + value.get<std::string>().substr(5);
  for (json& one : value)
    if (value.is_structured()) one = placed(one, work);
  return value;
}

class Player {
 public:
  Player(std::unique_ptr<Session> session, std::string work, const After& after)
      : m_work(std::move(work)), m_after(after) {
    m_sessions.push_back(std::move(session));
  }

  /// One line of a script: ["verb", arguments], ["tokens", count, seed] or ["fork"] or ["on", session].
  bool line(const json& one) {
    const std::string verb = one[0];
    if (verb == "on") {
      m_on = one[1];
      return true;
    }
    if (verb == "fork") return fork();
    if (verb == "tokens") {
      const std::vector<int> tokens = ids(one[1], one.size() > 2 ? unsigned(one[2]) : 5, m_vocabulary());
      return call("promptIds", {{"ids", tokens}});
    }
    const json args = one.size() > 1 ? placed(one[1], m_work) : json::object();
    if (verb != "step" || args.contains("tokens")) return call(verb, args);
    for (int i = 0; i < args.value("n", 1); ++i)
      if (!call("step", json::object())) return false;
    return true;
  }

 private:
  Session& session() { return *m_sessions[m_on]; }
  int m_vocabulary() { return session().model().config().vocab; }

  bool call(const std::string& verb, const json& args) {
    const Result<json> done = execute(session(), verb, args);
    std::string error = done ? "" : done.error().code;
    if (done && done->is_array() && !done->empty() && done->back().is_object() && done->back().contains("error"))
      error = done->back()["error"].value("code", "");
    if (done && done->is_object() && done->contains("error") && (*done)["error"].is_object())
      error = (*done)["error"].value("code", "");
    return m_after(session(), error);
  }

  bool fork() {
    Result<std::unique_ptr<Session>> other = session().fork();
    if (!other) end(other.error().text());
    m_sessions.push_back(other.take());
    m_on = m_sessions.size() - 1;
    return m_after(session(), "");
  }

  std::vector<std::unique_ptr<Session>> m_sessions;
  std::size_t m_on = 0;
  std::string m_work;
  const After& m_after;
};

}  // namespace

std::vector<Script> readScripts(const std::string& folder) {
  std::vector<Script> out;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    std::ifstream in(file.path());
    const json read = json::parse(in, nullptr, false);
    if (!read.is_object()) end(file.path().string() + " is no JSON object");
    out.push_back({file.path().stem(), read["manifest"], read["steps"]});
  }
  std::ranges::sort(out, {}, &Script::name);
  return out;
}

void play(const Script& script, const std::string& level, const std::string& resources, const std::string& work,
          const After& after) {
  json manifest{
      {"model", "synthetic:tiny"}, {"threads", 1}, {"capacity", 400}, {"staging", 160}, {"history_bytes", 64 << 20}};
  manifest.update(script.manifest);
  manifest["check"] = {{"level", level}};
  const Result<Manifest> read = Manifest::fromJson(manifest);
  if (!read) end(script.name + ": " + read.error().text());
  Result<std::unique_ptr<Session>> opened = openSession(*read, resources);
  if (!opened) end(script.name + ": " + opened.error().text());
  Player player(opened.take(), work, after);
  for (const json& one : script.steps)
    if (!player.line(one)) return;
}

}  // namespace kvlab::planted_faults
