// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/foreign_session.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/api/json_values.h"
#include "core/files/cache_file.h"
#include "core/files/fingerprint.h"
#include "core/model/files/mapped_file.h"
#include "core/session/row_pairs.h"
#include "core/verbs/cache_session.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// Rows of the file's layer `own`, by token: the first of each.
std::map<std::int32_t, std::int64_t> rowsByToken(const ExplainedLayer& layer) {
  std::map<std::int32_t, std::int64_t> out;
  for (std::int64_t row = 0; row < layer.rows(); ++row)
    if (const std::int32_t token = layer.tokens[at(row)]; token >= 0) out.emplace(token, row);
  return out;
}

/// |a - b| / |b| of a row.
double apart(std::span<const float> a, std::span<const float> b) {
  double differ = 0, all = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    differ += std::pow(double{a[i]} - double{b[i]}, 2);
    all += std::pow(double{b[i]}, 2);
  }
  return all > 0 ? std::sqrt(differ / all) : differ > 0 ? std::numeric_limits<double>::infinity() : 0;
}

/// The explained rows as a source of files.
OutgoingRows rowsOf(const Explanation& explanation, const ModelConfig& config) {
  OutgoingRows out{.config = config, .ids = explanation.ids, .layers = {}, .read = {}};
  std::vector<std::int32_t> position(explanation.ids.size(), -1);
  auto places =
      std::make_shared<std::vector<std::pair<const ExplainedLayer*, std::vector<std::int64_t>>>>(at(config.layers));
  for (const ExplainedLayer& layer : explanation.layers)
    for (const auto& [token, row] : rowsByToken(layer))
      if (position[at(token)] < 0) position[at(token)] = layer.positions[at(row)];
  out.layers.resize(at(config.layers));
  for (const ExplainedLayer& layer : explanation.layers) {
    auto& [from, rows] = (*places)[at(layer.own)];
    from = &layer;
    for (const auto& [token, row] : rowsByToken(layer)) {
      out.layers[at(layer.own)].push_back({token, position[at(token)]});
      rows.push_back(row);
    }
  }
  const std::size_t width = at(config.kvHeads) * at(config.headDim);
  out.read = [places, width](std::int32_t layer, std::size_t begin, std::size_t n, float* k, float* v) {
    const auto& [from, rows] = (*places)[at(layer)];
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at_row = at(rows[begin + i]) * width;
      std::copy_n(from->theirKeys.data() + at_row, width, k + i * width);
      std::copy_n(from->theirValues.data() + at_row, width, v + i * width);
    }
  };
  return out;
}

/// The hash of a file's content, or of those of a folder with their names.
Result<std::string> contentOf(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return contentHash(KV_TRY(MappedFile::open(path))->bytes());
  std::map<std::string, std::string> hashes;
  std::error_code failed;
  for (std::filesystem::directory_iterator one(path, failed), end; !failed && one != end; one.increment(failed))
    if (one->is_regular_file(failed))
      hashes[one->path().filename().string()] = contentHash(KV_TRY(MappedFile::open(one->path().string()))->bytes());
  if (failed) return badCache(path, "its folder cannot be read: " + failed.message());
  const std::string all = json(hashes).dump(-1, ' ', false, json::error_handler_t::replace);
  return contentHash(std::as_bytes(std::span(all)));
}

}  // namespace

Result<std::shared_ptr<const ExplainedFile>> explainFile(Session& session, const std::string& path,
                                                         const std::string& content) {
  auto out = std::make_shared<ExplainedFile>();
  out->content = KV_TRY(contentOf(path));
  if (!content.empty() && content != out->content) return fileChanged(path, out->content, content);
  const ForeignCache cache = KV_TRY(openForeign(path));
  if (cache.ids.empty())
    for (const LedgerId row : session.state().context) out->ids.push_back(session.state().ledger[row].token);
  std::shared_ptr<const ExplainedFile>& known = session.watching().explained;
  if (known && known->content == out->content && known->ids == out->ids) return known;
  ExplainAsk ask;
  ask.ids = out->ids;
  ask.progress = session.progress();
  const Manifest manifest = KV_TRY(session.manifest().with(explainingChanges()));
  Result<std::unique_ptr<Session>> room = session.beside(manifest);
  if (!room && room.error().code == "lane_differs")  // the session computes elsewhere, or otherwise
    room = openSession(manifest, session.parts().resources, session.progress());
  if (!room) return room.error();
  out->explanation = KV_TRY(explain(cache, room.take(), ask));
  known = out;
  return known;
}

Result<std::unique_ptr<Session>> explainedSession(const Session& like, const Explanation& explanation,
                                                  const std::string& path) {
  const OutgoingRows rows = rowsOf(explanation, like.model().config());
  const std::vector<OutgoingRow>& first = rows.layers.front();
  const bool gaps = first.empty() || first.back().position + 1 != std::ssize(rows.ids);
  const Manifest manifest = KV_TRY(like.manifest().with(gaps ? json{{"position", "absolute"}} : json::object()));
  std::unique_ptr<Session> out = KV_TRY(like.beside(manifest));
  KV_TRY(loadRows(*out, rows, path));
  return out;
}

Result<json> loadForeign(Session& session, const std::string& path, const std::string& content) {
  const std::shared_ptr<const ExplainedFile> file = KV_TRY(explainFile(session, path, content));
  const Explanation& explanation = file->explanation;
  session.history().beginCommand("loadCache",
                                 {{"path", std::filesystem::absolute(path).string()}, {"content", file->content}});
  KV_TRY(loadRows(session, rowsOf(explanation, session.model().config()), path));
  return json{{"path", path},
              {"form", explanation.importer},
              {"rows", session.state().length()},
              {"content", file->content},
              {"explanation", toJson(explanation)}};
}

void addExplanation(json& difference, const Explanation& explanation, const Session& theirs, const Session& session) {
  json& added = difference["explanation"] = toJson(explanation);
  const RowPairs pairs(theirs.state(), session.state());
  const auto addRows = [&](json& to, const RowReach& reach) {
    if (reach.empty()) return;
    json& rows = to["rows"] = json::array();
    for (const std::int32_t token : reach.tokens)
      if (const LedgerId row = pairs.nowOf(LedgerId(token)); row.value() >= 0) rows.push_back(row.value());
  };
  for (std::size_t i = 0; i < explanation.causes.size(); ++i)
    addRows(added["causes"][i]["reach"], explanation.causes[i].reach);
  addRows(added["unexplained"], explanation.unexplained);
  const std::size_t width = at(explanation.heads) * at(explanation.headDim);
  for (const ExplainedLayer& layer : explanation.layers) {
    const auto rows = rowsByToken(layer);
    for (json& one : difference["layers"]) {
      if (one["layer"] != layer.own) continue;
      for (json& changed : one["changed"]) {
        const auto found = rows.find(changed.value("ledgerThen", changed["ledger"].get<std::int32_t>()));
        if (found == rows.end()) continue;
        const auto of = [&](const std::vector<float>& all) {
          return std::span(all).subspan(at(found->second) * width, width);
        };
        changed["typed"] = {finite(apart(of(layer.typedKeys), of(layer.exactKeys))),
                            finite(apart(of(layer.typedValues), of(layer.exactValues)))};
      }
    }
  }
}

}  // namespace kvlab
