// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab compare: what is wrong with the cache of another program. The verdict and its figures on standard output,
// progress on standard error. Exit codes: 0 = equal, 1 = explained, 2 = not explained or wrong usage, 3 = file, model
// or ids refused. With a baseline: 0 = no worse than the baseline's answer, else as without.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "app/cli/programs.h"
#include "app/plain/resources.h"
#include "core/api/part_file.h"
#include "core/explain/html_report.h"
#include "core/foreign/foreign_cache.h"
#include "core/model/files/strict_json.h"
#include "core/verbs/explain_cache.h"

namespace kvlab {
namespace {

constexpr std::size_t kMostBytesOfIds = std::size_t{64} << 20, kMostBytesOfBaseline = std::size_t{256} << 20;

/// Numbers with anything but digits and signs between them: "1,2,3", "[1, 2, 3]".
Result<std::vector<TokenId>> idsIn(const std::string& text, const std::string& from) {
  std::vector<TokenId> out;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    if (std::string_view(" \t\r\n,;[]").find(*at) != std::string_view::npos) {
      ++at;
      continue;
    }
    std::int32_t id = 0;
    const auto [next, wrong] = std::from_chars(at, end, id);
    if (wrong != std::errc())
      return Error("usage", "kvlab compare --ids " + from, "it is no list of token ids",
                   "give numbers, 1,2,3, or a file of them", "ids");
    out.push_back(TokenId(id));
    at = next;
  }
  return out;
}

Result<std::vector<TokenId>> idsOf(const std::string& given) {
  if (given.empty()) return std::vector<TokenId>{};
  if (std::error_code none; !std::filesystem::is_regular_file(given, none)) return idsIn(given, given);
  return idsIn(KV_TRY(readFile(given, "unreadable_file", kMostBytesOfIds)), given);
}

bool tellComparison(const std::string& what, std::int64_t done, std::int64_t all) {
  static std::string last;
  if (all > 0 && what != last) std::fprintf(stderr, "kvlab: compare: %s\n", what.c_str());
  static_cast<void>(done);
  last = what;
  return !interrupted();
}

Result<nlohmann::json> baselineOf(const std::string& file) {
  if (file.empty()) return nlohmann::json();
  const std::string text = KV_TRY(readFile(file, "unreadable_file", kMostBytesOfBaseline));
  nlohmann::json out = nlohmann::json::parse(text, nullptr, false);
  if (out.is_object()) return out;
  return Error("bad_argument", "the baseline was not read", file + " is no JSON object",
               "give what kvlab compare --json FILE wrote", "baseline", file);
}

Exit exitOf(ExplainOutcome outcome) {
  switch (outcome) {
    case ExplainOutcome::Equal: return Exit::Ok;
    case ExplainOutcome::Explained: return Exit::Failed;
    default: return Exit::Unexplained;
  }
}

}  // namespace

Ending runCompare(const CommandLine& line) {
  watchInterrupts();
  ExplainAsk ask;
  ask.ids = KV_TRY(idsOf(line.ids));
  ask.progress = tellComparison;
  const nlohmann::json former = KV_TRY(baselineOf(line.baseline));
  const ForeignCache cache =
      KV_TRY(openForeign(line.file, {line.importer, line.sequence, line.mapping, ask.mostBytes}));
  const Explanation answer = KV_TRY(explainCache(cache, line.manifest, resourceRoot(), ask));
  if (!line.html.empty())
    KV_TRY(writeWhole(line.html, htmlReport(answer, {line.file, line.manifest.value("model", ""), KVLAB_VERSION})));
  if (!line.printsJson()) std::cout << explanationText(answer);
  nlohmann::json value = toJson(answer);
  value["file"] = line.file;
  if (former.is_null()) return {value, exitOf(answer.outcome)};
  const bool held = KV_TRY(noWorse(answer, former));
  value["no_worse"] = held;
  if (!line.printsJson()) std::cout << (held ? "no worse than the baseline\n" : "worse than the baseline\n");
  return {value, held ? Exit::Ok : exitOf(answer.outcome) == Exit::Ok ? Exit::Failed : exitOf(answer.outcome)};
}

}  // namespace kvlab
