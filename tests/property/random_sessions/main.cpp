// SPDX-License-Identifier: Apache-2.0
// Random sessions: random manifests, random calls of every verb, oracles after each call.
//   random_sessions [--seed S] [--sessions N | --seconds T | --calls C] [--steps K] [--jobs J] [--out DIR]
//                   [--shrink SECONDS] [--report FILE]
// --report writes the tried calls (tried.h) and chooses, among several seeds, the one whose settings are rarest
//   random_sessions --matrix all|part [--jobs J] [--out DIR]      plays the sessions of matrix.h
//   random_sessions --sequences DIR      plays DIR/*.jsonl and compares with DIR/expected.json
//   random_sessions --replay FILE        plays one sequence and says what it finds; with --out it shrinks it, too
// Ends with 1 where a finding is not in known.json, or a sequence does not show what expected.json says.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "property/random_sessions/manifests.h"
#include "property/random_sessions/matrix.h"
#include "property/random_sessions/shrink.h"
#include "property/random_sessions/tally.h"
#include "property/random_sessions/tried.h"
#include "property/random_sessions/verbs.h"

using namespace kvlab;
using namespace kvlab::random_sessions;
namespace fs = std::filesystem;

namespace {

struct Options {
  std::uint64_t seed = 1;
  std::int64_t sessions = 0, calls = 0;
  double seconds = 0, shrink = 10;
  int steps = 40, jobs = 1;
  std::string out, report, sequences, replay, matrix;
  std::string home = KVLAB_TESTS_DIR "/property/random_sessions";
};

bool parse(int argc, char** argv, Options& out) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--seed") out.seed = std::stoull(value);
    else if (name == "--sessions") out.sessions = std::stoll(value);
    else if (name == "--seconds") out.seconds = std::stod(value);
    else if (name == "--calls") out.calls = std::stoll(value);
    else if (name == "--jobs") out.jobs = std::max(1, std::stoi(value));
    else if (name == "--report") out.report = value;
    else if (name == "--steps") out.steps = std::stoi(value);
    else if (name == "--shrink") out.shrink = std::stod(value);
    else if (name == "--out") out.out = value;
    else if (name == "--sequences") out.sequences = value;
    else if (name == "--replay") out.replay = value;
    else if (name == "--matrix") out.matrix = value;
    else return false;
  }
  return argc % 2 == 1;
}

std::string inWords(const Failure& finding) { return finding.kind + " / " + finding.verb + " / " + finding.code; }

/// Every verb and every key takes part.
bool complete() {
  bool all = true;
  for (const std::string& verb : unmatchedVerbs())
    std::printf("verb %s: give verbs.cpp a way to draw it, or take it out there\n", verb.c_str()), all = false;
  for (const std::string& key : undrawnKeys())
    std::printf("manifest key %s is never drawn: see manifests.cpp\n", key.c_str()), all = false;
  return all;
}

void keep(const Options& options, std::uint64_t seed, const Played& played, const Folders& folders) {
  const Sequence small = options.shrink > 0 ? shrunk(played, folders, options.shrink) : played.sequence;
  std::string name = played.finding->kind + "_" + played.finding->verb + "_" + played.finding->code;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  const std::string path = options.out + "/" + name + "-" + std::to_string(seed) + ".jsonl";
  if (writeSequence(path, small))
    std::printf("seed %llu: %s: %s\n", static_cast<unsigned long long>(seed), inWords(*played.finding).c_str(),
                path.c_str());
  else std::printf("cannot write %s\n", path.c_str());
}

volatile std::sig_atomic_t stopped = 0;  // Ctrl+C ends the run with the table of what it found

/// Starts sessions one after another, `--jobs` of them at a time, and hands over the played steps of each.
class Run {
 public:
  /// given: play these instead of sessions that are drawn; seeds are their places.
  Run(const Options& options, const Folders& folders, std::vector<MatrixCell> given = {})
      : m_options(options), m_folders(folders), m_given(std::move(given)), m_seed(options.seed) {
    if (!options.report.empty()) m_tried.expect(m_seed, 20000);
  }

  /// The next session that has ended; none = all have.
  std::optional<std::pair<std::uint64_t, Played>> next() {
    while (more() && m_running.size() < static_cast<std::size_t>(m_options.jobs)) begin();
    while (!m_running.empty()) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      const auto at = std::ranges::find(m_running, ended, &Playing::process);
      if (at == m_running.end()) continue;
      const Playing playing = *at;
      m_running.erase(at);
      Played played = endOf(playing, status);
      if (!m_options.report.empty()) m_tried.add(played);
      m_calls += played.calls;
      return std::pair{playing.seed, std::move(played)};
    }
    return {};
  }
  const Tried& tried() const { return m_tried; }

 private:
  bool more() const {
    if (stopped) return false;
    if (!m_given.empty()) return m_begun < std::ssize(m_given);
    if (m_options.sessions) return m_begun < m_options.sessions;
    if (m_options.calls) return m_calls < m_options.calls;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count() < m_options.seconds;
  }

  std::uint64_t seed() {
    if (m_options.report.empty()) return m_seed++;
    constexpr int kAmong = 24;
    std::uint64_t best = m_seed;
    double most = -1;
    for (int i = 0; i < kAmong; ++i, ++m_seed)
      if (const double rarity = m_tried.rarity(manifestOf(m_seed)); rarity > most) most = rarity, best = m_seed;
    return best;
  }

  void begin() {
    Folders folders = m_folders;
    const auto place = static_cast<std::size_t>(m_begun);
    folders.work += "/" + std::to_string(m_begun++ % m_options.jobs);
    const auto taken = [&] {
      return std::ranges::any_of(m_running, [&](const Playing& one) { return one.folders.work == folders.work; });
    };
    while (taken()) folders.work += "+";
    if (m_given.empty()) return m_running.push_back(beginRandom(seed(), m_options.steps, folders));
    m_running.push_back(beginSequence(m_given[place].sequence, folders));
    m_running.back().seed = place;
  }

  const Options& m_options;
  const Folders& m_folders;
  std::vector<MatrixCell> m_given;
  std::uint64_t m_seed;
  std::int64_t m_begun = 0, m_calls = 0;
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
  std::vector<Playing> m_running;
  Tried m_tried;
};

bool writeText(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return file.good();
}

int random(const Options& options, const Folders& folders) {
  const Result<KnownList> known = KnownList::read(options.home + "/known.json");
  if (!known) return std::printf("%s\n", known.error().text().c_str()), 2;
  Tally tally(*known);
  for (const int which : {SIGINT, SIGTERM}) std::signal(which, [](int) { stopped = 1; });
  Run run(options, folders);
  while (const auto ended = run.next()) {
    const auto& [seed, played] = *ended;
    if (tally.add(seed, played) && !options.out.empty())
      keep(options, seed, played, {folders.work + "/shrink", folders.resources});
    std::fflush(stdout);
  }
  tally.print();
  if (!options.report.empty() && !writeText(options.report, run.tried().report()))
    return std::printf("cannot write %s\n", options.report.c_str()), 2;
  return tally.unknown() ? 1 : 0;
}

/// Layouts of one use, row type and residency end in the same state.
int compareLayouts(const std::vector<MatrixCell>& cells, const std::vector<std::string>& hashes) {
  std::map<std::string, std::size_t> first;
  int wrong = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (hashes[i].empty()) continue;
    const std::size_t other = first.try_emplace(cells[i].alike, i).first->second;
    if (hashes[i] == hashes[other]) continue;
    ++wrong;
    std::printf("%s: %s and %s end in other states\n", cells[i].alike.c_str(),
                cells[i].sequence.manifest["layout"].get<std::string>().c_str(),
                cells[other].sequence.manifest["layout"].get<std::string>().c_str());
  }
  return wrong;
}

int playMatrix(const Options& options, const Folders& folders) {
  const std::vector<MatrixCell> cells = matrixCells(options.matrix == "all");
  const KnownList none;
  Tally tally(none);
  std::vector<std::string> hashes(cells.size());
  for (const int which : {SIGINT, SIGTERM}) std::signal(which, [](int) { stopped = 1; });
  Run run(options, folders, cells);
  while (const auto ended = run.next()) {
    const auto& [place, played] = *ended;
    if (!played.finding) hashes[place] = played.hash;
    if (!played.unopened.empty())
      std::printf("%s: %s was refused with %s\n", cells[place].alike.c_str(),
                  cells[place].sequence.manifest["layout"].get<std::string>().c_str(), played.unopened.c_str());
    if (tally.add(place, played) && !options.out.empty()) keep(options, place, played, folders);
    std::fflush(stdout);
  }
  tally.print();
  return compareLayouts(cells, hashes) + tally.unknown() ? 1 : 0;
}

/// [kind, verb, code] of each finding, each once, in the order in which they came.
std::vector<json> shownBy(const Played& played) {
  std::vector<json> out;
  for (const Failure& one : played.all) {
    const json line =
        json::array({one.kind, one.verb, one.kind == "crash" ? "" : one.code});  // damage ends in many ways
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
  }
  return out;
}

/// Prints the entries of `these` that are not in `those`; returns their number.
int printMissing(const std::vector<json>& these, const std::vector<json>& those, const char* verdict) {
  int many = 0;
  for (const json& one : these)
    if (std::find(those.begin(), those.end(), one) == those.end())
      std::printf("  %s: %s\n", one.dump().c_str(), verdict), ++many;
  return many;
}

std::vector<fs::path> sequencesIn(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

int sequences(const Options& options, const Folders& folders) {
  std::ifstream file(options.sequences + "/expected.json");
  const json expected = json::parse(file, nullptr, false);
  if (!expected.is_object()) return std::printf("%s has no expected.json\n", options.sequences.c_str()), 2;
  int wrong = 0;
  for (const fs::path& path : sequencesIn(options.sequences)) {
    const Result<Sequence> sequence = readSequence(path.string());
    if (!sequence) return std::printf("%s\n", sequence.error().text().c_str()), 2;
    const std::string name = path.filename().string();
    const std::vector<json> shown = shownBy(playToTheEnd(*sequence, folders));
    std::printf("%s: %s\n", name.c_str(), json(shown).dump().c_str());
    const std::vector<json> wanted = expected.value(name, std::vector<json>());
    wrong += printMissing(wanted, shown, "mended: move it out of expected.json");
    wrong += printMissing(shown, wanted, "a new finding");
  }
  return wrong ? 1 : 0;
}

int replay(const Options& options, const Folders& folders) {
  const Result<Sequence> sequence = readSequence(options.replay);
  if (!sequence) return std::printf("%s\n", sequence.error().text().c_str()), 2;
  const Played played = playToTheEnd(*sequence, folders);
  if (!played.unopened.empty()) return std::printf("the manifest was refused with %s\n", played.unopened.c_str()), 2;
  for (const Failure& one : played.all) std::printf("%s\n  %s\n", inWords(one).c_str(), one.detail.c_str());
  std::printf("%d calls, %zu findings\n", played.calls, played.all.size());
  if (!options.out.empty() && played.finding) keep(options, options.seed, playSequence(*sequence, folders), folders);
  return played.finding ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return std::printf("see the head of main.cpp for the options\n"), 2;
  if (!complete()) return 1;
  std::string work = (fs::temp_directory_path() / "kvlab-random-XXXXXX").string();
  if (!mkdtemp(work.data())) return std::printf("no folder for files\n"), 2;
  const Folders folders{work, KVLAB_RESOURCES_DIR};
  if (!options.out.empty()) fs::create_directories(options.out);
  const int code = !options.replay.empty() ? replay(options, folders)
      : !options.matrix.empty()            ? playMatrix(options, folders)
      : !options.sequences.empty()         ? sequences(options, folders)
                                           : random(options, folders);
  fs::remove_all(work);
  return code;
}
