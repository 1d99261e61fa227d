// SPDX-License-Identifier: Apache-2.0
// Input: a byte that chooses a session on the smallest model, then lines of JSON, each a call of a verb:
// ["step", {"n": 2}]. After each call every invariant holds, and a call that was refused has changed
// nothing. In the end undone states come back with their hashes, and a reset leaves the first state.
#include "core/verbs/verbs.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/model/files/strict_json.h"
#include "core/session/requests.h"
#include "core/session/truth.h"
#include "fuzz.h"

using namespace kvlab;
using nlohmann::json;

namespace {

constexpr int kMostCalls = 32;
constexpr std::size_t kPaths = 3;

std::string folder() {
  static const std::string made = [] {
    std::string name = (std::filesystem::temp_directory_path() / "kvlab-fuzz-XXXXXX").string();
    fuzz::require(::mkdtemp(name.data()) != nullptr, "no folder for files");
    return name;
  }();
  return made;
}

/// Position modes and layouts, then values of after_edit, then the executors; behind these wLOD.
constexpr unsigned kPlain = 36, kWlod = 4;

json manifest(unsigned choice) {
  const char* const positions[] = {"context", "absolute", "cache"};
  const char* const after[] = {"keep", "recompute", "selective"};
  if (choice >= kPlain)
    return {{"model", "synthetic:tiny:layers=2"},
            {"threads", 1},
            {"history_bytes", 1 << 16},
            {"wlod",
             {{"budget", 64},
              {"protect", 8},
              {"start_tokens", 16},
              {"cooldown", 1},
              {"every", 4},
              {"w", 32},
              {"w2", 1024},
              {"moments", 2000},
              {"attention", choice % 2 ? "pyramid" : "flat"},
              {"recompute", choice < kPlain + 2 ? "chosen" : "selective"},
              {"lens", choice % 4 == 3 ? "script" : "attention"}}}};
  json out{{"model", "synthetic:tiny:layers=2"},
           {"threads", 1},
           {"capacity", 40},
           {"staging", 24},
           {"history_bytes", 1 << 16}};
  out["position"] = positions[choice % 3];
  out["layout"] = choice / 3 % 2 ? "contiguous_splice" : "indirection";
  out["after_edit"] = after[choice / 6 % 3];
  out["executor"] = choice / 18 % 2 ? "descending" : "batch";
  if (choice % 2) out["brightness"] = {{"target", 20}, {"compressor", "nearest"}, {"min_cosine", -1}, {"decay", 20}};
  return out;
}

/// The state that a refusal leaves as it was.
std::string digest(Session& s) {
  return json{stateHash(s),
              s.timeline().size(),
              s.timeline().currentId(),
              s.timeline().branch(),
              s.pending().size(),
              s.breakpoints().points().size(),
              s.notes().size(),
              s.history().capture() != nullptr,
              s.health().status}
      .dump();
}

/// One session for each choice, opened once; every input starts from a reset one.
Session& sessionOf(unsigned choice, std::string& first) {
  static std::map<unsigned, std::pair<std::unique_ptr<Session>, std::string>> sessions;
  auto& [session, digestThen] = sessions[choice];
  if (!session) {
    const auto parsed = Manifest::fromJson(manifest(choice));
    fuzz::require(static_cast<bool>(parsed), "the manifest was refused");
    auto opened = openSession(*parsed, "");
    fuzz::require(static_cast<bool>(opened), "the session was refused");
    session = opened.take();
    digestThen = digest(*session);
  }
  first = digestThen;
  return *session;
}

/// Files stay in one folder, whatever a call names.
json contained(const std::string& verb, json args) {
  const VerbInfo* info = verbNamed(verb);
  for (const ArgInfo& arg : info ? info->args : std::vector<ArgInfo>()) {
    if (arg.type != ArgType::Path || !args.is_object() || !args.contains(arg.name) || !args[arg.name].is_string())
      continue;
    const std::string given = args[arg.name];
    args[arg.name] = folder() + "/" + std::to_string(std::hash<std::string>{}(given) % kPaths);
  }
  return args;
}

/// The report of the only tick of a call, if there is one that failed.
bool failedTick(const json& result) {
  const json& all = result.is_object() && result.contains("ticks") ? result["ticks"] : result;
  const json& report = all.is_array() && all.size() == 1 ? all[0] : all;
  return report.is_object() && report.contains("ok") && report["ok"] == false;
}

void mustHold(Session& session, const char* when) {
  for (const InvariantState& invariant : session.check(true))
    if (!invariant.ok) {
      std::fprintf(stderr, "%s\n", invariant.detail.c_str());
      fuzz::require(false, when);
    }
}

void call(Session& session, const json& line) {
  if (!line.is_array() || line.empty() || !line[0].is_string()) return;
  const std::string before = digest(session);
  const std::string verb = line[0];
  const Result<json> result = execute(session, verb, contained(verb, line.size() > 1 ? line[1] : json::object()));
  if (!result) fuzz::checkError(result.error());
  else (void)result->dump();
  if (!result || failedTick(*result)) fuzz::require(digest(session) == before, "a refused call changed something");
  fuzz::require(session.health().status != SessionState::Broken, "the session is broken");
  mustHold(session, "an invariant is broken");
}

/// Back and forth again; an undo that needs a file which has changed since is refused.
void backAndForth(Session& session) {
  clearPending(session);
  const std::string hash = stateHash(session);
  if (!undo(session)) return fuzz::require(stateHash(session) == hash, "a refused undo changed something");
  mustHold(session, "an undo broke an invariant");
  if (redo(session)) fuzz::require(stateHash(session) == hash, "another state came back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string first;
  Session& session = sessionOf(data[0] % (kPlain + kWlod), first);
  std::string_view rest = fuzz::text(data, size).substr(1);
  for (int i = 0; i < kMostCalls && !rest.empty(); ++i) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (const auto parsed = parseJson(line, "line", "bad_line")) call(session, *parsed);
  }
  backAndForth(session);
  for (const char* verb : {"stopCapture", "clearBreaks", "clearNotes", "reset"})
    fuzz::require(static_cast<bool>(execute(session, verb, nullptr)), "no reset");
  fuzz::require(digest(session) == first, "a reset left something");
  return 0;
}
