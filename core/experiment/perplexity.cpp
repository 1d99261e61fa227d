// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/perplexity.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/api/json_values.h"
#include "core/model/files/strict_json.h"
#include "core/session/ticks.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytesOfText = std::size_t{256} << 20;
constexpr std::int64_t kPiece = 512;  // tokens between two looks at `cancel`

/// Tokens [begin, read) are read, tokens [read, end) scored.
struct Window {
  std::int64_t begin = 0, read = 0, end = 0;
};

/// With `each` a window needs a prompt, from which rows are evicted: the first one scores no more than the others.
std::vector<Window> windowsOf(std::int64_t tokens, int context, int stride, bool each) {
  std::vector<Window> out;
  std::int64_t scored = each ? std::clamp<std::int64_t>(context - stride, 1, tokens) : 0;
  for (std::int64_t begin = 0; scored < tokens; begin += stride) {
    out.push_back({begin, scored, std::min(tokens, begin + context)});
    scored = out.back().end;
  }
  return out;
}

Status happened(const TickReport& report) { return report.ok || !report.error ? ok() : Status(*report.error); }

class Reader {
 public:
  Reader(Session& session, Perplexity& out, const Progress& progress)
      : m_session(session), m_out(out), m_progress(progress), m_all(std::ssize(out.ids)) {}

  Status window(const Window& w) {
    KV_TRY(m_session.reset());
    const std::int64_t piece = m_out.each ? 1 : kPiece;
    for (std::int64_t i = w.begin; i < w.read; i += kPiece) {
      const std::int64_t end = std::min(w.read, i + kPiece);
      KV_TRY(tell(w.read));
      KV_TRY(happened(append(m_session, tokens(i, end), Source::Prompt, end == w.read)));
    }
    for (std::int64_t i = w.read; i < w.end; i += piece) {
      const std::int64_t end = std::min(w.end, i + piece);
      KV_TRY(tell(i));
      KV_TRY(happened(score(m_session, tokens(i, end), m_out.each)));
    }
    return keep(w);
  }

 private:
  std::vector<TokenId> tokens(std::int64_t begin, std::int64_t end) const {
    std::vector<TokenId> out;
    for (std::int64_t i = begin; i < end; ++i) out.emplace_back(m_out.ids[at(i)]);
    return out;
  }

  Status tell(std::int64_t done) const {
    if (report(m_progress, "scoring tokens", done, m_all)) return ok();
    return Error("cancelled", "the measurement was cancelled",
                 "after " + std::to_string(done) + " of " + std::to_string(m_all) + " tokens", "start it again");
  }

  /// The text's rows stand in the ledger in the order of the text.
  Status keep(const Window& w) {
    const Ledger& ledger = m_session.state().ledger;
    std::int64_t token = w.begin;
    for (LedgerId id{0}; id < ledger.nextId() && token < w.end; id = LedgerId(id.value() + 1)) {
      if (ledger[id].kind != RowKind::Token) continue;
      if (token >= w.read) m_out.losses[at(token)] = ledger[id].surprise;
      ++token;
    }
    return ok();
  }

  Session& m_session;
  Perplexity& m_out;
  const Progress& m_progress;
  std::int64_t m_all;
};

/// True if rows leave between two tokens, so that a token must not be computed together with others.
bool evicts(const Manifest& manifest) {
  if (manifest.policy.name != "full") return true;
  return std::any_of(manifest.layers.begin(), manifest.layers.end(),
                     [](const LayerOverride& one) { return one.policy && one.policy->name != "full"; });
}

Result<Manifest> manifestFor(const PerplexityOrder& order, std::int64_t rows) {
  json given = order.manifest;
  if (!given.contains("capacity")) given["capacity"] = rows;
  given["history_bytes"] = 0;
  if (!given.contains("check")) given["check"] = {{"level", "off"}};
  return Manifest::fromJson(given);
}

Status readText(const Tokenizer& tokenizer, const PerplexityOrder& order, Perplexity& out) {
  const std::string text = KV_TRY(readFile(order.text, "unreadable_file", kMostBytesOfText));
  for (const TokenId id : KV_TRY(tokenizer.encode(text, true))) {
    if (order.tokens > 0 && std::ssize(out.ids) == order.tokens) break;
    out.ids.push_back(id.value());
    out.texts.push_back(tokenizer.tokenText(id));
  }
  if (out.ids.size() >= 2) return ok();
  return Error("short_text", "nothing was measured", order.text + " has " + std::to_string(out.ids.size()) + " tokens",
               "give a text of two tokens or more", "text", order.text);
}

Status chooseWindows(const PerplexityOrder& order, const ModelConfig& model, Perplexity& out) {
  const auto all = static_cast<std::int64_t>(out.ids.size());
  out.context = order.context ? order.context : static_cast<int>(std::min<std::int64_t>(all, model.maxPositions));
  out.stride = order.stride ? order.stride : std::max(1, out.context / 2);
  if (out.stride <= out.context) return ok();
  return Error(
      "usage", "nothing was measured",
      "a stride of " + std::to_string(out.stride) + " leaves tokens out: windows have " + std::to_string(out.context),
      "give a stride of at most the window", "stride", out.stride);
}

void summarise(Perplexity& out) {
  double sum = 0, squares = 0;
  for (const float loss : out.losses) {
    if (std::isnan(loss)) continue;
    ++out.scored;
    sum += loss;
    squares += double{loss} * loss;
  }
  const auto n = static_cast<double>(out.scored);
  out.nll = sum / n;
  out.error = std::sqrt(std::max(0.0, squares / n - out.nll * out.nll) / std::max(1.0, n - 1));
  out.perplexity = std::exp(out.nll);
}

}  // namespace

Result<Perplexity> perplexity(const PerplexityOrder& order, const Progress& progress) {
  Perplexity out;
  // The text is measured before the session knows how many rows it needs.
  const auto model = KV_TRY(Model::open(order.manifest.value("model", "demo"), order.resources, progress));
  KV_TRY(readText(model->tokenizer(), order, out));
  KV_TRY(chooseWindows(order, model->config(), out));
  const Manifest manifest = KV_TRY(manifestFor(order, out.context));
  out.losses.assign(out.ids.size(), std::numeric_limits<float>::quiet_NaN());
  auto session = KV_TRY(Session::open(manifest, order.resources, progress));
  out.each = evicts(manifest) || session->state().kind->derivesContext();
  out.model = manifest.model;
  out.numerics = session->parts().backend->ops().numericsId();
  const auto begin = std::chrono::steady_clock::now();
  Reader reader(*session, out, progress);
  for (const Window& window : windowsOf(std::ssize(out.ids), out.context, out.stride, out.each)) {
    KV_TRY(reader.window(window));
    ++out.windows;
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  summarise(out);
  return out;
}

json toJson(const Perplexity& result) {
  return {{"model", result.model},
          {"numerics", result.numerics},
          {"context", result.context},
          {"stride", result.stride},
          {"each", result.each},
          {"windows", result.windows},
          {"scored", result.scored},
          {"nll", finite(result.nll)},
          {"nll_error", finite(result.error)},
          {"seconds", result.seconds},
          {"perplexity", finite(result.perplexity)},
          {"ids", result.ids},
          {"texts", result.texts},
          {"losses", finiteList(result.losses)}};
}

}  // namespace kvlab
