// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/row_actions.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <algorithm>
#include <iterator>

#include "core/api/wlod_view.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/token_text.h"
#include "widgets/base/word_edit.h"

namespace kvlab {
namespace {
using nlohmann::json;

/// The text of rows as the model has it, with its blanks.
QString rawText(const Snapshot& s, const std::vector<Position>& rows) {
  QString text;
  for (Position row : rows) {
    const auto token = at(s.ledger[s.context[at(row.value())]].token.value());
    if (token < s.info->tokenTexts.size()) text += QString::fromStdString(s.info->tokenTexts[token]);
  }
  return text;
}

json jsonOf(const std::vector<Action>& actions) {
  json list = json::array();
  for (const Action& one : actions) list.push_back(toJson(one));
  return list;
}
}  // namespace

RowActions::RowActions(InspectorContext& context, QWidget& view, QWidget& control,
                       std::function<QRect(Position)> placeOf)
    : QObject(&view), m_context(context), m_view(view), m_control(control), m_placeOf(std::move(placeOf)) {
  m_replace = add(tr("Replace…"), tr("Type other words for the rows"), {Qt::Key_Return, Qt::Key_Enter, Qt::Key_F2},
                  Needs::Row, &RowActions::replace);
  add(tr("Insert before…"), tr("Type words to insert before the first of the rows"), {Qt::Key_Insert}, Needs::Row,
      &RowActions::insertBefore);
  m_delete =
      add(tr("Delete"), tr("Take the rows out of the context"), {Qt::Key_Delete}, Needs::Row, &RowActions::remove);
  addLine();
  m_evict = add(tr("Evict here"), tr("Evict the rows from the focused layer; their tokens stay in the context"), {},
                Needs::Row, &RowActions::evictHere);
  add(tr("Evict in all layers"), tr("Evict the rows from every layer that has them"), {}, Needs::Row,
      &RowActions::evictEverywhere);
  m_pin = add(tr("Pin"), tr("No policy may evict or cull a pinned row"), {}, Needs::Row, &RowActions::pin);
  add(tr("Set brightness…"), tr("Type a brightness from 0 to 255"), {}, Needs::Row, &RowActions::setBrightness);
  m_tree = add(tr("Expand"), tr("Replace a gist by its 32 children"), {}, Needs::Gist, &RowActions::turnTree);
  addLine();
  add(tr("Break when evicted"), tr("Stop a run in the tick in which a layer loses the row"), {}, Needs::Row,
      &RowActions::breakAt);
  add(tr("Show history"), tr("What happened to the focused row, tick by tick"), {}, Needs::OneRow,
      &RowActions::showHistory);
  addLine();
  add(tr("Copy text"), tr("Copy the text of the rows"), {}, Needs::Shown, &RowActions::copyText);
  add(tr("Copy as script"), tr("Copy a script that opens the session, does the same and chooses these rows"), {},
      Needs::Shown, &RowActions::copyScript);
  addLine();
}

QAction* RowActions::add(const QString& text, const QString& tip, QList<QKeySequence> keys, Needs needs,
                         void (RowActions::*work)()) {
  auto* action = new QAction(text, this);
  action->setToolTip(tip);
  action->setStatusTip(tip);
  action->setShortcuts(keys);
  action->setShortcutContext(Qt::WidgetShortcut);
  if (!keys.isEmpty()) m_control.addAction(action);
  connect(action, &QAction::triggered, this, [this, action, needs, work] {
    const QString why = obstacle(needs);
    if (why.isEmpty()) return (this->*work)();
    emit m_context.failed(Error("blocked", action->text().toStdString() + " was not done", why.toStdString(),
                                "choose rows of the newest tick while nothing runs"));
  });
  m_needs[action] = needs;
  m_actions.append(action);
  return action;
}

void RowActions::addLine() {
  auto* line = new QAction(this);
  line->setSeparator(true);
  m_actions.append(line);
}

QString RowActions::obstacle(Needs needs) const {
  const SnapshotPtr s = m_context.snapshot();
  if (!s) return tr("no session is open");
  const std::vector<Position> rows = m_context.chosenRows();
  if (needs == Needs::OneRow) return m_context.focus().ledger.value() < 0 ? tr("no row is chosen") : QString();
  if (rows.empty()) return tr("no row of the context is chosen");
  if (needs == Needs::Shown) return {};
  if (!m_context.history().empty() && m_context.history().back() != s)
    return m_context.following() ? tr("the engine is working") : tr("an older tick is shown");
  if (m_context.busy()) return tr("the engine is working");
  const bool gist = s->wlod && at(rows.front().value()) < s->wlod->entries.size() &&
      s->wlod->entries[at(rows.front().value())].level > 0;
  return needs == Needs::Gist && !gist ? tr("the row is not a gist") : QString();
}

QString RowActions::rowsText(const std::vector<Position>& rows) const {
  if (rows.size() != 1) return counted(static_cast<qint64>(rows.size()), tr("token"), tr("tokens"));
  return tr("“%1”").arg(textAt(*m_context.snapshot(), rows.front()));
}

std::vector<LedgerId> RowActions::ledgers() const {
  std::vector<LedgerId> out;
  for (Position row : m_context.chosenRows()) out.push_back(m_context.snapshot()->context[at(row.value())]);
  return out;
}

void RowActions::retitle() {
  const SnapshotPtr s = m_context.snapshot();
  const std::vector<Position> rows = m_context.chosenRows();
  if (!s || rows.empty()) return;
  const QString what = rowsText(rows);
  m_replace->setText(tr("Replace %1…").arg(what));
  m_delete->setText(tr("Delete %1").arg(what));
  m_evict->setText(tr("Evict in layer %1").arg(layerText(*s, m_context.focus().layer)));
  const bool pinned = s->ledger[s->context[at(rows.front().value())]].pinned;
  m_pin->setText(pinned ? tr("Unpin") : tr("Pin"));
  m_tree->setVisible(s->wlod != nullptr);
}

void RowActions::attend(QMenu& menu) {
  retitle();
  menu.setToolTipsVisible(true);
  for (auto one = m_needs.begin(); one != m_needs.end(); ++one) {
    const QString why = obstacle(one.value());
    one.key()->setEnabled(why.isEmpty());
  }
  connect(&menu, &QMenu::aboutToHide, this, [this] {
    for (auto one = m_needs.begin(); one != m_needs.end(); ++one) one.key()->setEnabled(true);
  });
}

void RowActions::run(const char* id, const json& args, Position then) {
  m_context.runCommand(QLatin1String(id), args, this, [this, then](const Result<json>& reply) {
    if (const std::optional<Error> refused = refusalOf(reply)) return emit m_context.failed(*refused);
    const SnapshotPtr s = m_context.snapshot();
    if (then.value() >= 0 && s && s->length() > 0)
      m_context.focusPosition(Position(std::min(then.value(), s->length() - 1)));
  });
}

void RowActions::inject(const std::vector<Action>& actions, Position then) {
  run("inject", {{"actions", jsonOf(actions)}, {"now", true}}, then);
}

void RowActions::typeWords(const QString& text, const QString& name,
                           std::function<void(const std::vector<TokenId>&)> done) {
  const auto typed = [this, done, before = m_context.snapshot()](const QString& words) {
    if (words.isEmpty()) return done({});
    m_context.query(
        "rows.tokenise", "tokenise", {{"text", words.toStdString()}}, this,
        [this, done, before](const Result<json>& reply) {
          if (!reply) return emit m_context.failed(reply.error());
          std::vector<TokenId> ids;
          for (const json& id : *reply) ids.push_back(TokenId(id.get<std::int32_t>()));
          if (m_context.snapshot() == before) return done(ids);
          emit m_context.failed(Error("blocked", "the words were not written",
                                      "the context has changed since they were typed", "choose the rows again"));
        });
  };
  WordEdit::open(m_view, m_placeOf(m_context.chosenRows().front()), text, name, typed);
}

/// No words take the rows away.
void RowActions::replace() {
  const std::vector<Position> rows = m_context.chosenRows();
  const QString text = rawText(*m_context.snapshot(), rows);
  typeWords(text, tr("Words in place of %1").arg(rowsText(rows)), [this, rows](const std::vector<TokenId>& ids) {
    if (ids.empty()) return remove();
    const SnapshotPtr s = m_context.snapshot();
    std::vector<TokenId> old;
    for (Position row : rows) old.push_back(s->ledger[s->context[at(row.value())]].token);
    if (ids != old) inject({Replace{rows, ids}}, rows.front());
  });
}

void RowActions::insertBefore() {
  const Position row = m_context.chosenRows().front();
  typeWords({}, tr("Words before %1").arg(rowsText({row})), [this, row](const std::vector<TokenId>& ids) {
    if (!ids.empty()) inject({Insert{row, ids}}, row);
  });
}

void RowActions::remove() {
  const std::vector<Position> rows = m_context.chosenRows();
  std::vector<Action> actions;
  for (Position row : rows) actions.push_back(Delete{row});
  inject(actions, rows.front());
}

void RowActions::evictHere() {
  const CacheLayers& layers = m_context.snapshot()->info->cacheLayers;
  const CacheLayer layer = m_context.focus().layer;
  inject({Evict{layers.layerOf(layer), layers.headOf(layer), ledgers()}});
}

void RowActions::evictEverywhere() {
  const SnapshotPtr s = m_context.snapshot();
  const CacheLayers& layers = s->info->cacheLayers;
  const std::vector<LedgerId> rows = ledgers();
  std::vector<Action> actions;
  for (CacheLayer layer : layers.each()) {
    std::vector<LedgerId> here;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(here),
                 [&](LedgerId row) { return isResident(*s, layer, row); });
    if (!here.empty()) actions.push_back(Evict{layers.layerOf(layer), layers.headOf(layer), here});
  }
  if (!actions.empty()) return inject(actions);
  emit m_context.failed(
      Error("blocked", "nothing was evicted", "no layer has the rows", "choose rows that are resident"));
}

void RowActions::pin() {
  const SnapshotPtr s = m_context.snapshot();
  const std::vector<LedgerId> rows = ledgers();
  const bool on = !s->ledger[rows.front()].pinned;
  for (LedgerId row : rows) run("pin", {{"ledger", row.value()}, {"on", on}});
}

void RowActions::setBrightness() {
  const std::vector<LedgerId> rows = ledgers();
  const auto done = [this, rows](const QString& text) {
    bool number = false;
    const double value = text.toDouble(&number);
    if (!number || !(value >= 0 && value <= 255))
      return emit m_context.failed(Error("bad_argument", "the brightness was not set",
                                         "“" + text.toStdString() + "” is not a number from 0 to 255",
                                         "type a number from 0 to 255"));
    for (LedgerId row : rows) run("set_brightness", {{"ledger", row.value()}, {"value", value}});
  };
  WordEdit::open(m_view, m_placeOf(m_context.chosenRows().front()), {},
                 tr("Brightness of %1, 0 to 255").arg(rowsText(m_context.chosenRows())), done);
}

void RowActions::turnTree() {
  const Position row = m_context.chosenRows().front();
  run("wlod_expand", {{"node", m_context.snapshot()->wlod->entries[at(row.value())].id().value()}}, row);
}

void RowActions::breakAt() {
  for (LedgerId row : ledgers())
    run("break_add", {{"condition", "evicted(ledger==" + std::to_string(row.value()) + ")"}});
}

void RowActions::copyText() {
  QGuiApplication::clipboard()->setText(rawText(*m_context.snapshot(), m_context.chosenRows()));
}

void RowActions::copyScript() { run("copy_session_script", json::object()); }

void RowActions::showHistory() { run("show_history", json::object()); }

}  // namespace kvlab
