// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/choice_part.h"

#include <QLabel>
#include <algorithm>
#include <cmath>

#include "core/api/read_json.h"
#include "core/api/table.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {

/// The last tick in which the layer lost the row, in an answer of the table `history`.
std::optional<Tick> lastLoss(const nlohmann::json& history, std::optional<Head> head) {
  std::optional<Tick> out;
  for (const nlohmann::json& one : recordsOf(history))
    if (!head || memberOr(one, "kvHead", -1) == head->value()) out = Tick(memberOr(one, "tick", std::int64_t{0}));
  return out;
}

/// The last tick up to the shown one in which the layer's policy let rows go.
std::optional<Tick> lastChoice(const Snapshot& s, CacheLayer layer) {
  return s.policies && at(layer) < s.policies->layers.size() ? s.policies->layers[at(layer)].fired : std::nullopt;
}

}  // namespace

ChoicePart::ChoicePart(InspectorContext& context, InspectorView* view, QWidget* parent)
    : QWidget(parent), m_context(context), m_ask(context, view, "smartkv.choice") {
  auto* column = tightColumn(this);
  m_matrix = new KeepMatrix(this);
  m_why = new QLabel(this);
  m_why->setWordWrap(true);
  m_why->setTextFormat(Qt::PlainText);
  m_why->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_why->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kSmall);
  m_why->setAccessibleName(tr("The choice about the focused row"));
  m_plot = new ChoicePlot(this);
  column->addWidget(m_matrix);
  column->addWidget(m_why);
  column->addWidget(m_plot, 1);
  column->addStretch();  // where the plot is hidden
  m_scores.threshold = m_scores.focused = NAN;
  connect(m_matrix, &KeepMatrix::chosen, this, &ChoicePart::chosen);
}

void ChoicePart::show(const std::vector<BandRows>& layers) {
  const SnapshotPtr s = m_context.snapshot();
  if (s && s->info)
    m_matrix->show(s->info->cacheLayers, s->length(), layers, m_context.focus().layer, s->attentionErrors);
  const bool choices = s && s->policies;
  m_why->setVisible(choices);
  m_plot->setVisible(choices);
}

QString ChoicePart::why() const { return m_why->text(); }

void ChoicePart::say(const QString& text) { m_why->setText(text); }

nlohmann::json ChoicePart::table(const char* name, nlohmann::json of, const nlohmann::json& columns,
                                 const char* where) const {
  nlohmann::json args = tableArgs(name, std::move(of), columns);
  args["where"] = where;
  return args;
}

void ChoicePart::ask() {
  const SnapshotPtr s = m_context.snapshot();
  if (!s || !s->policies || m_context.busy()) return;
  const auto& history = m_context.history();
  const Question now{m_context.focus(), history.empty() ? s->serial : history.back()->serial, s->tick};
  if (m_asked == now) return;
  m_asked = now;
  const CacheLayer layer = now.focus.layer;
  const LedgerId row = now.focus.ledger;
  if (at(layer) >= s->layers.size()) return;
  if (s->stage && s->stage->stage == Stage::Prune) return askTick(Tick(s->tick.value() + 1));
  if (!s->ledger.contains(row) || isResident(*s, layer, row)) return askTick(lastChoice(*s, layer));
  const std::string where =
      "event == \"left_layer\" && layer == " + std::to_string(s->info->cacheLayers.layerOf(layer).value());
  m_ask.query("table", table("history", {{"ledger", row.value()}}, {"tick", "kvHead"}, where.c_str()),
              [this, s, layer](const Result<nlohmann::json>& reply) {
                const std::optional<Tick> lost =
                    reply ? lastLoss(*reply, s->info->cacheLayers.headOf(layer)) : std::nullopt;
                askTick(lost ? lost : lastChoice(*s, layer));
              });
}

/// Asks for the choice of one tick: the scores of all rows, and the words about the focused one.
void ChoicePart::askTick(std::optional<Tick> tick) {
  const SnapshotPtr s = m_context.snapshot();
  if (!s || !m_asked) return;
  const CacheLayer layer = m_asked->focus.layer;
  const LedgerId row = m_asked->focus.ledger;
  const QString where = s->info->cacheLayers.byHead() ? tr("Layer %1, KV head %2")
                                                            .arg(s->info->cacheLayers.layerOf(layer).value())
                                                            .arg(s->info->cacheLayers.partOf(layer))
                                                      : tr("Layer %1").arg(layerText(*s, layer));
  if (!tick) {
    m_scores = {{}, {}, NAN, NAN};
    m_plot->show(m_scores);
    return say(tr("%1: no row had to leave so far").arg(where));
  }
  nlohmann::json of = withLayer(*s, layer, {{"tick", tick->value()}});
  const QString chosen = *tick > s->tick
      ? tr("%1, tick %2, which is open: no row has left yet").arg(where).arg(tick->value())
      : tr("%1, tick %2").arg(where).arg(tick->value());
  m_ask.query("table", table("decisions", of, {"event", "ledger", "score", "threshold"}, "rank >= 1"),
              [this](const Result<nlohmann::json>& reply) {
                if (!reply) return say(QString::fromStdString(reply.error().text()));
                takeScores(*reply);
              });
  if (!s->ledger.contains(row)) return say(tr("%1: choose a row to see its score and rank").arg(chosen));
  of["ledger"] = row.value();
  const QString token = tr("“%1” (ledger %2)").arg(tokenText(*s, row)).arg(row.value());
  m_ask.alsoQuery("smartkv.choice.row", "table", table("decisions", of, {"detail"}, "event != \"computed\""),
                  [this, chosen, token](const Result<nlohmann::json>& reply) {
                    if (!reply) return say(QString::fromStdString(reply.error().text()));
                    const nlohmann::json& details = cellsIn(*reply, "detail");
                    const QString detail = details.empty()
                        ? tr("no choice about it is known: the layer did not have it then")
                        : QString::fromStdString(jsonOr(details.back(), std::string()));
                    say(QStringLiteral("%1: %2 %3").arg(chosen, token, detail));
                  });
}

void ChoicePart::takeScores(const nlohmann::json& reply) {
  const nlohmann::json &events = cellsIn(reply, "event"), &scores = cellsIn(reply, "score"),
                       &rows = cellsIn(reply, "ledger"), &thresholds = cellsIn(reply, "threshold");
  const auto number = [](const nlohmann::json& cell) {
    return cell.is_number() ? static_cast<float>(jsonOr(cell, 0.0)) : std::nanf("");
  };
  m_scores = {{}, {}, NAN, NAN};
  for (std::size_t i = 0; i < std::min({events.size(), scores.size(), rows.size(), thresholds.size()}); ++i) {
    const bool dropped = jsonOr(events[i], std::string()) == "dropped";
    (dropped ? m_scores.dropped : m_scores.stayed).push_back(number(scores[i]));
    m_scores.threshold = number(thresholds[i]);
    if (m_asked && jsonOr(rows[i], -1) == m_asked->focus.ledger.value()) m_scores.focused = number(scores[i]);
  }
  m_plot->show(m_scores);
}

QString ChoicePart::dump() const {
  const QString errors = m_matrix->errorLines();
  return QStringLiteral("choice: %1\nscores: %2\n").arg(m_why->text(), m_plot->dump()) +
      (errors.isEmpty() ? QString() : QStringLiteral("attention error by layer and query head:\n") + errors);
}

}  // namespace kvlab
