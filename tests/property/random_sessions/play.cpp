// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/play.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "property/random_sessions/manifests.h"
#include "property/random_sessions/verbs.h"

namespace kvlab::random_sessions {
namespace {

namespace fs = std::filesystem;
constexpr rlim_t kCpuSeconds = 60;  // limit for one session; a busy machine costs none of them

/// The progress of a child, written line by line so that it survives the child.
class Journal {
 public:
  explicit Journal(const std::string& path) : m_file(path) {}
  void write(const json& line) { m_file << line.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl; }

 private:
  std::ofstream m_file;
};

using Next = std::function<std::optional<Step>(Session&)>;  // the next step; none = the end

/// After these everything else is wrong, too.
bool fatal(const Failure& finding) {
  return finding.kind.ends_with("invariant") || finding.kind.ends_with("slots") || finding.kind == "broken";
}

void playHere(const json& manifest, const Next& next, bool onward, const Folders& folders) {
  Journal steps(folders.work + "/steps"), result(folders.work + "/result");
  steps.write(manifest);
  Player player(folders.work, folders.resources);
  json out = json::object();
  if (Status opened = player.open(manifest); !opened) {
    out["unopened"] = opened.error().code;
    return result.write(out);
  }
  int calls = 0;
  while (const std::optional<Step> step = next(player.session())) {
    ++calls;
    steps.write(toJson(*step));
    if (const std::optional<Failure> found = player.play(*step)) {
      out["findings"].push_back(toJson(*found));
      if (!onward || fatal(*found)) break;
    }
  }
  out["hash"] = hashOf(player.session());
  out["calls"] = calls;
  out["refused"] = player.refused();
  result.write(out);
}

int waitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void readBack(const Folders& folders, Played& out) {
  if (Result<Sequence> steps = readSequence(folders.work + "/steps")) out.sequence = steps.take();
  std::ifstream file(folders.work + "/result");
  const json result = json::parse(file, nullptr, false);
  if (!result.is_object()) return;
  out.unopened = result.value("unopened", "");
  out.calls = result.value("calls", 0);
  out.hash = result.value("hash", "");
  out.refused = result.value("refused", out.refused);
  for (const json& one : result.value("findings", json::array())) out.all.push_back(findingFromJson(one));
  if (!out.all.empty()) out.finding = out.all.front();
}

Playing begin(const json& manifest, const Next& next, bool onward, const Folders& folders) {
  fs::remove_all(folders.work);
  fs::create_directories(folders.work);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{kCpuSeconds, kCpuSeconds};
    setrlimit(RLIMIT_CPU, &limit);
    playHere(manifest, next, onward, folders);
    _exit(0);
  }
  return {child, 0, folders};
}

Played playApart(const json& manifest, const Next& next, bool onward, const Folders& folders) {
  const Playing playing = begin(manifest, next, onward, folders);
  return endOf(playing, playing.process > 0 ? waitFor(playing.process) : SIGABRT);
}

}  // namespace

Played endOf(const Playing& playing, int status) {
  Played out;
  readBack(playing.folders, out);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out;
  const bool hung = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
  const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit " + std::to_string(status);
  out.calls = static_cast<int>(out.sequence.steps.size());
  out.finding = Failure{hung ? "hang" : "crash", out.calls ? out.sequence.steps.back().verb : "open", how, how};
  out.all = {*out.finding};
  return out;
}

json manifestOf(std::uint64_t seed) {
  Draw draw(seed);
  return drawManifest(draw);
}

Playing beginRandom(std::uint64_t seed, int steps, const Folders& folders) {
  Draw draw(seed);
  const json manifest = drawManifest(draw);
  std::optional<Drawing> drawing;
  const Next next = [&](Session& session) -> std::optional<Step> {
    if (steps-- <= 0) return std::nullopt;
    if (!drawing) drawing.emplace(Drawing{draw, session});
    return drawStep(*drawing);
  };
  Playing out = begin(manifest, next, false, folders);
  out.seed = seed;
  return out;
}

namespace {

Next stepsIn(const Sequence& sequence) {
  return [&sequence, place = std::size_t{0}](Session&) mutable -> std::optional<Step> {
    if (place == sequence.steps.size()) return std::nullopt;
    return sequence.steps[place++];
  };
}

Played playGiven(const Sequence& sequence, bool onward, const Folders& folders) {
  return playApart(sequence.manifest, stepsIn(sequence), onward, folders);
}

}  // namespace

Playing beginSequence(const Sequence& sequence, const Folders& folders) {
  return begin(sequence.manifest, stepsIn(sequence), false, folders);
}

Played playSequence(const Sequence& sequence, const Folders& folders) { return playGiven(sequence, false, folders); }
Played playToTheEnd(const Sequence& sequence, const Folders& folders) { return playGiven(sequence, true, folders); }

}  // namespace kvlab::random_sessions
