// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/row_actions.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <algorithm>
#include <iterator>

#include "core/api/read_json.h"
#include "core/api/wlod_view.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/note_place.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/tokens.h"
#include "widgets/base/wlod_tree.h"
#include "widgets/base/word_edit.h"

namespace kvlab {
namespace {
using nlohmann::json;

QString rawText(const Snapshot& s, const std::vector<Position>& rows) {
  QString text;
  for (Position row : rows) text += rawText(s, s.context[at(row.value())]);
  return text;
}
}  // namespace

void greyWhileOpen(QMenu& menu, QAction& action, const QString& tip, const QString& why) {
  action.setEnabled(why.isEmpty());
  action.setToolTip(why.isEmpty() ? tip : RowActions::tr("%1. Off: %2").arg(tip, why));
  action.setStatusTip(action.toolTip());
  QObject::connect(&menu, &QMenu::aboutToHide, &action, [&action] { action.setEnabled(true); });
}

RowActions::RowActions(InspectorContext& context, QWidget& view, QWidget& control,
                       std::function<QRect(Position)> placeOf)
    : QObject(&view), m_context(context), m_view(view), m_control(control), m_placeOf(std::move(placeOf)) {
  addEdits();
  addEvictions();
  addTree();
  addBreaks();
  addWatches();
  addBack();
  addRest();
}

RowActions::~RowActions() = default;

void RowActions::addEdits() {
  add(
      "replace", tr("Replace…"), tr("Type other words for the rows"), {Qt::Key_Return, Qt::Key_Enter, Qt::Key_F2},
      Needs::Row, [this] { replace(); }, "inject");
  add(
      "insert_before", tr("Insert before…"), tr("Type words to insert before the first of the rows"), {Qt::Key_Insert},
      Needs::Row, [this] { insertBefore(); }, "inject");
  add(
      "delete", tr("Delete"), tr("Take the rows out of the context"), {Qt::Key_Delete}, Needs::Row,
      [this] { remove(); }, "inject");
  addLine();
}

void RowActions::addEvictions() {
  const auto evict = [this](const char* id, const QString& text, const QString& tip, const QList<QKeySequence>& keys,
                            Needs needs, const std::function<Layers()>& from) {
    add(
        id, text, tip, keys, needs, [=, this] { evictFrom(from()); }, "inject",
        [=, this] { return whyNotEvicted(from()); });
  };
  evict("evict", tr("Evict here"), tr("Evict the rows from the focused layer; their tokens stay in the context"),
        {Qt::Key_E}, Needs::Row, [this] { return focusedLayers(); });
  evict("evict_head", tr("Evict for one head"), tr("Evict the rows for the focused KV head of the focused layer"), {},
        Needs::OneHead, [this] {
          const std::int32_t head = m_context.focus().layer.value();
          return idRange<CacheLayer>(head, head + 1);
        });
  evict("evict_all", tr("Evict in all layers"), tr("Evict the rows from every layer that has them"),
        {Qt::SHIFT | Qt::Key_E}, Needs::Row, [this] { return m_context.snapshot()->info->cacheLayers.each(); });
  add(
      "pin", tr("Pin"), tr("No policy may evict or cull a pinned row"), {Qt::Key_P}, Needs::Row, [this] { pin(); },
      "pin");
  add(
      "brightness", tr("Set brightness…"), tr("Type a brightness from 0 to 255"), {Qt::Key_B}, Needs::Row,
      [this] { setBrightness(); }, "set_brightness");
}

void RowActions::addTree() {
  add("expand", tr("Expand"), tr("Replace a gist by its 32 children"), {}, Needs::Gist,
      [this] { turnTree("wlod_expand", 0); });
  add("collapse", tr("Collapse"), tr("Replace the row and its 31 siblings by their gist"), {}, Needs::Foldable,
      [this] { turnTree("wlod_collapse", 1); });
  addLine();
}

void RowActions::addBreaks() {
  addMenu("break", tr("Break when"), tr("Stop a run when something happens to the rows"), Needs::Row, "break_add",
          "condition",
          {{"evicted", "evicted", false, tr("Evicted"), tr("Stop a run in the tick in which a layer loses the row")},
           {"pruned", "stage(prune) and evicted", false, tr("About to be dropped"),
            tr("Stop a run inside the tick in which a policy has decided to drop the row, before the row leaves")},
           {"changed", "changed", false, tr("Changed"),
            tr("Stop a run in the tick in which the token of the row is replaced or deleted")},
           {"read", "read", false, tr("Read"),
            tr("Stop a run in the tick whose query gives the row more than an equal share of its attention, in the "
               "last layer")},
           {"stale", "stale", false, tr("Made stale"),
            tr("Stop a run in the tick from which on a rebuild might compute the row differently")}});
}

void RowActions::addWatches() {
  addMenu(
      "watch", tr("Watch"), tr("Show a value of the rows with every tick"), Needs::Row, "watch_add", "expression",
      {{"watch_brightness", "brightness", false, tr("Brightness"),
        tr("Show the brightness of the row with every tick")},
       {"watch_read", "read", true, tr("Attention"),
        tr("Show the attention that the newest query pays to the row in the focused layer, with every tick")},
       {"watch_exactness", "exactness", false, tr("Exactness"),
        tr("Show with every tick how the row of the last layer stands to a rebuild")},
       {"watch_slot", "slot", true, tr("Slot"), tr("Show the slot of the row in the focused layer with every tick")}});
}

void RowActions::addBack() {
  addMenu(
      "back", tr("Run back to"), tr("Go back to what happened to the focused row"), Needs::OneRow, "run_back",
      "condition",
      {{"last_write", "written", true, tr("Last write"),
        tr("Go back to the tick in which the focused layer computed the row, or gave it another slot")},
       {"last_move", "moved", true, tr("Last move"),
        tr("Go back to the tick in which the row got another slot in the focused layer")},
       {"last_evicted", "evicted", false, tr("Evicted"), tr("Go back to the last tick in which a layer lost the row")},
       {"last_changed", "changed", false, tr("Changed"),
        tr("Go back to the tick in which the token of the row was replaced or deleted")},
       {"last_read", "read", false, tr("Last read"),
        tr("Go back to the last tick whose query gave the row more than an equal share of its attention, in the "
           "last layer")},
       {"last_stale", "stale", false, tr("Made stale"),
        tr("Go back to the tick from which on a rebuild might compute the row differently")}});
  m_known[m_actions.back()].command = "run_back";
  add(
      "why", tr("Why stale?"),
      tr("Show the tick whose command made the row differ from a rebuild, and the row and the layer where that began"),
      {Qt::Key_Y}, Needs::OneRow,
      [this] {
        run("why", {{"ledger", m_context.focus().ledger.value()}});
      },
      "why", [this] { return whyNotStale(); });
  add(
      "why_dropped", tr("Why did the layer drop it?"),
      tr("Show in Policy the choice by which the focused layer dropped the row: its score, its rank, the lowest score "
         "that stayed, and which row that was"),
      {Qt::SHIFT | Qt::Key_Y}, Needs::OneRow, [this] { run("show_smartkv", json::object()); }, "show_smartkv",
      [this] { return whyNotDropped(); });
  add(
      "knock_out", tr("Next token without them"),
      tr("Show in Model what the next token would be if the rows were hidden, together and one by one; the session "
         "stays as it is. The colour Knock-out shows what each row does"),
      {Qt::Key_K}, Needs::Row,
      [this] {
        json rows = json::array();
        for (const LedgerId row : ledgers()) rows.push_back(row.value());
        run("knock_out", {{"ledger", rows}});
      },
      "knock_out");
}

void RowActions::addRest() {
  add("values", tr("Show values"), tr("Keys and values of the focused row, by head"), {Qt::Key_V}, Needs::OneRow,
      [this] { run("show_row", json::object()); });
  add("history", tr("Show history"), tr("What happened to the focused row, tick by tick"), {Qt::Key_H}, Needs::OneRow,
      [this] { run("show_history", json::object()); });
  add("note", tr("Note…"), tr("Write a note about the focused row at the shown tick; without words it is a bookmark"),
      {Qt::Key_N}, Needs::OneRow, [this] { writeNote(); });
  addLine();
  add(
      "paste", tr("Paste before"), tr("Insert the clipboard's text before the rows; at the end where none is chosen"),
      {QKeySequence::Paste}, Needs::Newest, [this] { paste(); }, "inject",
      [] { return QGuiApplication::clipboard()->text().isEmpty() ? tr("the clipboard holds no text") : QString(); });
  add("copy_text", tr("Copy text"), tr("Copy the text of the rows"), {}, Needs::Shown,
      [this] { QGuiApplication::clipboard()->setText(rawText(*m_context.snapshot(), m_context.chosenRows())); });
  add("copy_script", tr("Copy as script"),
      tr("Copy a script that opens the session, does the same and chooses these rows"), {}, Needs::Shown,
      [this] { run("copy_session_script", json::object()); });
  addLine();
}

QAction* RowActions::make(const char* id, const QString& text, Known known, const std::function<void()>& work) {
  auto* action = new QAction(text, this);
  action->setObjectName(QLatin1String(id));
  action->setToolTip(known.tip);
  action->setStatusTip(known.tip);
  m_known[action] = std::move(known);
  if (!work) return action;
  connect(action, &QAction::triggered, this, [this, action, work] {
    const QString why = obstacle(*action);
    if (why.isEmpty()) return work();
    emit m_context.failed(Error("blocked", action->text().toStdString() + " was not done", why.toStdString(),
                                "choose rows of the newest tick while nothing runs"));
  });
  return action;
}

void RowActions::add(const char* id, const QString& text, const QString& tip, const QList<QKeySequence>& keys,
                     Needs needs, const std::function<void()>& work, const char* command, Reason why) {
  QAction* action = make(id, text, {needs, tip, command, std::move(why)}, work);
  action->setShortcuts(keys);
  action->setShortcutContext(Qt::WidgetShortcut);
  if (!keys.isEmpty()) m_control.addAction(action);
  m_actions.append(action);
}

void RowActions::addMenu(const char* id, const QString& text, const QString& tip, Needs needs, const char* command,
                         const char* argument, const std::vector<Fact>& facts) {
  QMenu& menu = *m_menus.emplace_back(std::make_unique<QMenu>());
  menu.setToolTipsVisible(true);
  const bool one = needs == Needs::OneRow;
  for (const Fact& fact : facts) {
    const auto work = [=, this] {
      for (LedgerId row : one ? std::vector{m_context.focus().ledger} : ledgers())
        run(command, {{argument, std::string(fact.subject) + "(" + rowsOf(row, fact.ofLayer) + ")"}});
    };
    const auto why = [=, this] { return one ? whyNothingBack(fact.subject) : QString(); };
    menu.addAction(make(fact.id, fact.text, {needs, fact.tip, command, why}, work));
  }
  m_actions.append(make(id, text, {needs, tip}, {}));
  m_actions.back()->setMenu(&menu);
}

void RowActions::addLine() {
  auto* line = new QAction(this);
  line->setSeparator(true);
  m_actions.append(line);
}

QAction* RowActions::action(const QString& id) const { return findChild<QAction*>(id, Qt::FindDirectChildrenOnly); }

QString RowActions::obstacle(const QAction& action) const {
  const auto known = m_known.find(const_cast<QAction*>(&action));
  if (known == m_known.end()) return {};
  if (const QString why = obstacle(known->needs); !why.isEmpty()) return why;
  const QString why = *known->command ? m_context.obstacleOf(QLatin1String(known->command)) : QString();
  return why.isEmpty() && known->why ? known->why() : why;
}

RowActions::Layers RowActions::focusedLayers() const {
  const CacheLayers& layers = m_context.snapshot()->info->cacheLayers;
  return layers.of(layers.layerOf(m_context.focus().layer));
}

QString RowActions::whyNotEvicted(const Layers& from) const {
  const SnapshotPtr s = m_context.snapshot();
  if (s->wlod) return tr("rows of a wLOD session leave layers by policies alone; collapse blocks, or set a policy");
  for (const LedgerId row : ledgers())
    for (const CacheLayer layer : from)
      if (isResident(*s, layer, row)) return {};
  return static_cast<int>(from.size()) == s->info->cacheLayers.count() ? tr("no layer has the rows")
                                                                       : tr("the layer does not have the rows");
}

/// The reason why a search back for an event of the focused row must fail; empty = the command has to search.
QString RowActions::whyNothingBack(const char* subject) const {
  const SnapshotPtr s = m_context.snapshot();
  const LedgerId row = m_context.focus().ledger;
  if (!s->ledger.contains(row)) return tr("the row is not known");
  const std::string_view what = subject;
  if (what == "changed" && s->ledger[row].state == RowState::Live) return tr("the token is as it came");
  const bool written = what == "written" || what == "moved" || what == "read";
  if (written && s->ledger[row].born >= s->tick) return tr("the row came in this tick");
  const auto everywhere = [&] {
    return std::ranges::all_of(s->layers, [&](const auto& map) {
      return map->first == 0 && std::find(map->ledger.begin(), map->ledger.end(), row) != map->ledger.end();
    });
  };
  return what == "evicted" && everywhere() ? tr("the row never left a layer") : QString();
}

QString RowActions::whyNotStale() const {
  const SnapshotPtr s = m_context.snapshot();
  const int position = m_context.focus().position.value();
  if (!s->exactness || position < 0 || at(position) >= s->exactness->size()) return {};
  return (*s->exactness)[at(position)] == Exactness::Exact ? tr("the row is what a rebuild would compute") : QString();
}

QString RowActions::whyNotDropped() const {
  const SnapshotPtr s = m_context.snapshot();
  if (!s->policies) return tr("every layer keeps all its rows");
  const CacheLayer layer = m_context.focus().layer;
  return at(layer) < s->layers.size() && isResident(*s, layer, m_context.focus().ledger)
      ? tr("layer %1 has the row").arg(layerText(*s, layer))
      : QString();
}

QString RowActions::tip(const QAction& action) const { return m_known.value(const_cast<QAction*>(&action)).tip; }

QString RowActions::obstacle(Needs needs) const {
  const SnapshotPtr s = m_context.snapshot();
  if (!s) return tr("no session is open");
  if (needs == Needs::OneRow) return m_context.focus().ledger.value() < 0 ? tr("no row is chosen") : QString();
  const std::optional<Position> row = firstRow();
  if (!row && needs != Needs::Newest) return tr("no row of the context is chosen");
  if (needs == Needs::Shown) return {};
  if (!m_context.history().empty() && m_context.history().back() != s)
    return m_context.following() ? tr("the engine is working") : tr("an older tick is shown");
  if (m_context.busy()) return tr("the engine is working");
  if (needs == Needs::OneHead && !s->info->cacheLayers.byHead())
    return tr("rows leave a layer whole; a session with residency kv_head evicts by head");
  return row ? treeObstacle(needs, *s, *row) : QString();
}

/// The first of the chosen rows, without a look at all of them.
std::optional<Position> RowActions::firstRow() const {
  if (m_context.selection().size() < 2) {
    const std::vector<Position> rows = m_context.chosenRows();
    return rows.empty() ? std::nullopt : std::optional(rows.front());
  }
  const Snapshot& s = *m_context.snapshot();
  for (std::int32_t p = 0; p < s.length(); ++p)
    if (m_context.selected(s.context[at(p)]) && s.ledger.contains(s.context[at(p)])) return Position(p);
  return {};
}

QString RowActions::treeObstacle(Needs needs, const Snapshot& s, Position row) const {
  if (needs != Needs::Gist && needs != Needs::Foldable) return {};
  if (!s.wlod || at(row.value()) >= s.wlod->entries.size()) return tr("the session has no wLOD tree");
  const TreeNode entry = s.wlod->entries[at(row.value())];
  if (needs == Needs::Gist && entry.level == 0) return tr("the row is not a gist");
  if (needs == Needs::Foldable && entry.level == kTopLevel) return tr("the row is a gist of the highest level");
  const WlodTree tree(m_context.snapshot());
  return (needs == Needs::Gist ? tree.expansion(entry) : tree.collapse(entry.at(entry.level + 1))).why;
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
  if (s && s->info)
    action("why_dropped")->setText(tr("Why did layer %1 drop it?").arg(layerText(*s, m_context.focus().layer)));
  const std::vector<Position> rows = m_context.chosenRows();
  if (!s || rows.empty()) return;
  const QString what = rowsText(rows);
  const CacheLayers& layers = s->info->cacheLayers;
  const CacheLayer own = m_context.focus().layer;
  action("replace")->setText(tr("Replace %1…").arg(what));
  action("delete")->setText(tr("Delete %1").arg(what));
  action("knock_out")->setText(tr("Next token without %1").arg(what));
  action("evict")->setText(tr("Evict in layer %1").arg(layers.layerOf(own).value()));
  action("evict_head")
      ->setText(layers.byHead()
                    ? tr("Evict for KV head %1 of layer %2").arg(layers.partOf(own)).arg(layers.layerOf(own).value())
                    : tr("Evict for one head"));
  const bool pinned = s->ledger[s->context[at(rows.front().value())]].pinned;
  action("pin")->setText(pinned ? tr("Unpin") : tr("Pin"));
}

void RowActions::attend(QMenu& menu) {
  retitle();
  menu.setToolTipsVisible(true);
  for (auto one = m_known.begin(); one != m_known.end(); ++one)
    greyWhileOpen(menu, *one.key(), one->tip, obstacle(*one.key()));
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
  json list = json::array();
  for (const Action& one : actions) list.push_back(toJson(one));
  run("inject", {{"actions", list}, {"now", true}}, then);
}

void RowActions::tokenise(const QString& text, std::function<void(const std::vector<TokenId>&)> done) {
  m_context.query("rows.tokenise", "tokenise", {{"text", text.toStdString()}}, this,
                  [this, done = std::move(done), before = m_context.snapshot()](const Result<json>& reply) {
                    if (!reply) return emit m_context.failed(reply.error());
                    std::vector<TokenId> ids;
                    for (const json& id : *reply) ids.push_back(TokenId(jsonOr(id, -1)));
                    if (m_context.snapshot() == before) return done(ids);
                    emit m_context.failed(Error("blocked", "the words were not written",
                                                "the context has changed meanwhile", "choose the rows again"));
                  });
}

void RowActions::typeWords(const QString& text, const QString& name,
                           std::function<void(const std::vector<TokenId>&)> done) {
  const auto typed = [this, done, before = m_context.snapshot()](const QString& words) {
    if (words.isEmpty()) return done({});
    if (m_context.snapshot() == before) return tokenise(words, done);
    emit m_context.failed(Error("blocked", "the words were not written",
                                "the context has changed since they were typed", "choose the rows again"));
  };
  WordEdit::open(m_view, m_placeOf(m_context.chosenRows().front()), text, name, typed);
}

void RowActions::insertText(Position before, const QString& text) {
  const auto refuse = [this](const QString& why, const char* remedy) {
    emit m_context.failed(Error("blocked", "the text was not inserted", why.toStdString(), remedy));
  };
  if (const QString why = obstacle(Needs::Newest); !why.isEmpty())
    return refuse(why, "insert it into the newest tick while nothing runs");
  if (text.isEmpty()) return refuse(tr("there is no text"), "copy some text first");
  tokenise(text, [this, before, refuse](const std::vector<TokenId>& ids) {
    ids.empty() ? refuse(tr("the text has no tokens"), "insert other text") : inject({Insert{before, ids}}, before);
  });
}

void RowActions::paste() {
  const std::vector<Position> rows = m_context.chosenRows();
  insertText(rows.empty() ? Position(m_context.snapshot()->length()) : rows.front(),
             QGuiApplication::clipboard()->text());
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

void RowActions::evictFrom(const Layers& from) {
  const SnapshotPtr s = m_context.snapshot();
  const CacheLayers& layers = s->info->cacheLayers;
  const std::vector<LedgerId> rows = ledgers();
  std::vector<Action> actions;
  for (CacheLayer layer : from) {
    std::vector<LedgerId> here;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(here),
                 [&](LedgerId row) { return isResident(*s, layer, row); });
    if (!here.empty()) actions.push_back(Evict{layers.layerOf(layer), layers.headOf(layer), here});
  }
  if (!actions.empty()) return inject(actions);
  emit m_context.failed(Error("blocked", "nothing was evicted",
                              from.size() == 1 ? "the layer does not have the rows" : "no layer has the rows",
                              "choose rows that are resident"));
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

/// up: levels between the entry and the node that the command names.
void RowActions::turnTree(const char* command, int up) {
  const Position row = m_context.chosenRows().front();
  const TreeNode entry = m_context.snapshot()->wlod->entries[at(row.value())];
  run(command, {{"node", entry.at(entry.level + up).id().value()}}, row);
}

/// "ledger==12", or "ledger==12, layer==3" for the focused layer.
std::string RowActions::rowsOf(LedgerId row, bool layer) const {
  std::string out = "ledger==" + std::to_string(row.value());
  const CacheLayers& layers = m_context.snapshot()->info->cacheLayers;
  if (layer) out += ", layer==" + std::to_string(layers.layerOf(m_context.focus().layer).value());
  return out;
}

/// The row may have left the context, and has no place in the view then.
void RowActions::writeNote() {
  const std::vector<Position> rows = m_context.chosenRows();
  const QRect place = rows.empty() ? QRect(m_view.rect().center(), QSize()) : m_placeOf(rows.front());
  const SnapshotPtr s = m_context.snapshot();
  const QString row = tr("row %1 at tick %2").arg(m_context.focus().ledger.value()).arg(s->tick.value());
  WordEdit::open(m_view, place, {}, tr("Note about %1").arg(row),
                 [this, args = notePlace(m_context)](const QString& text) mutable {
                   args["text"] = text.toStdString();
                   run("note", args);
                 })
      ->keepText();
}

}  // namespace kvlab
