// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_tree_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
constexpr const char* kPages[] = {"edit", "rounds"};
constexpr int kWide = 860;  // the panel is beside the tree from this width on
}  // namespace

WlodTreeView::WlodTreeView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_edit(context, this), m_tiles(context, "tree", this) {
  makeStrip();
  makeBody();
  makeActions();
  makeOptions();
  connect(&context, &InspectorContext::busyChanged, this, &WlodTreeView::buttons);
  for (const auto changed : {&InspectorContext::quantityChanged, &InspectorContext::scaleChanged})
    connect(&context, changed, this, &WlodTreeView::takeAgain);
  connect(&m_tiles, &TileCache::arrived, this, &WlodTreeView::takeValues);
}

void WlodTreeView::makeStrip() {
  m_colour =
      stripChoice({tr("automatic"), tr("last edit"), tr("score"), tr("attention"), tr("level"), tr("as the map")},
                  tr("Colour of the entries"),
                  tr("Colour entries by the rows that the last edit invalidated, the lens's score, attention, "
                     "level, or the quantity that colours the map; automatic uses the last edit if there was one"));
  m_colour->setSizeAdjustPolicy(QComboBox::AdjustToContents);  // the text of "auto" depends on the state
  addOption("colour", {"auto", "change", "score", "attention", "level", "map"}, m_colour, [this] { showColour(); });
  m_state = stripLabel({}, 1);
  m_expand = stripButton(tr("Expand"), tr("Expand"), {}, "wlod_expand");
  m_collapse = stripButton(tr("Collapse"), tr("Collapse"), {}, "wlod_collapse");
  m_refocus = stripButton(tr("Refocus"), tr("Refocus"), {}, "wlod_refocus");
  m_begin = stripButton(tr("Open a wLOD Session…"), tr("Open a wLOD Session"),
                        tr("Begin the form of a new session with wLOD on"));
  runsCommand(m_begin, context(), "new_wlod_session");
  connect(m_expand, &QToolButton::clicked, this, [this] {
    if (m_tree && m_canvas->selected()) ask(m_tree->expansion(*m_canvas->selected()));
  });
  connect(m_collapse, &QToolButton::clicked, this, [this] {
    if (m_tree && m_canvas->selected()) ask(m_tree->collapse(*m_canvas->selected()));
  });
  connect(m_refocus, &QToolButton::clicked, this, &WlodTreeView::refocus);
}

void WlodTreeView::makeBody() {
  auto* both = new TurningSplitter(
      kWide, [](int width) { return width * 3 / 5; }, [](int height) { return height / 2; }, this);
  m_canvas = new WlodCanvas(context(), both);
  both->addWidget(m_canvas);
  both->addWidget(makePanel(both));
  both->setStretchFactor(0, 3);
  both->setStretchFactor(1, 2);
  setContent(both);
  setMainControl(m_canvas);
  m_room = new QToolButton(this);
  m_room->setText(tr("Collapse the Weakest Block and Expand"));
  m_room->setAccessibleName(m_room->text());
  setCommand(m_room, "wlod_expand");
  m_room->setToolTip(tr("Make room in the budget by collapsing the blocks with the lowest scores, then expand"));
  m_room->hide();
  connect(m_room, &QToolButton::clicked, this, [this] {
    if (const QString why = whyNotNow(); !why.isEmpty()) return say(tr("not expanded: %1").arg(why));
    nlohmann::json args = m_roomless;
    args["room"] = true;
    send("wlod_expand", args);
  });
  m_message = new QLabel(this);
  m_message->setObjectName("readout");
  m_message->setWordWrap(true);
  m_message->setTextFormat(Qt::PlainText);
  m_message->setFont(theme()->small);
  m_message->setAccessibleName(tr("Why the last edit was refused"));
  m_message->hide();
  auto* said = new QHBoxLayout;  // in one line: a refusal takes little of a low view
  said->addWidget(m_message, 1);
  said->addWidget(m_room);
  body()->addLayout(said);
  m_readout = readoutLine();
  connect(m_canvas, &WlodCanvas::clicked, this, &WlodTreeView::pick);
  connect(m_canvas, &WlodCanvas::activated, this, [this](TreeNode node) {
    if (m_canvas->selected() != node) pick(node);
    ask(m_tree->towards(node));
  });
  connect(m_canvas, &WlodCanvas::readoutChanged, this, &WlodTreeView::sayReadout);
}

QWidget* WlodTreeView::makePanel(QWidget* parent) {
  auto* panel = new QWidget(parent);
  auto* column = tightColumn(panel);
  m_tabs = new QTabBar(panel);
  m_tabs->addTab(tr("Last edit"));
  m_tabs->addTab(tr("Rounds"));
  m_tabs->setTabToolTip(0, tr("Show the rows that the last edit invalidated, the reason, and the cost"));
  m_tabs->setTabToolTip(1, tr("Show the decisions of the focus allocator, round by round"));
  m_tabs->setAccessibleName(tr("Last edit or rounds"));
  m_tabs->setToolTip(tr("The last edit, or the rounds of the focus allocator"));
  m_tabs->setExpanding(false);
  m_tabs->setFont(theme()->small);
  m_pages = new QStackedWidget(panel);
  m_facts = new WlodFactList(m_pages);
  m_rounds = new WlodRounds(m_pages);
  m_pages->addWidget(m_facts);
  m_pages->addWidget(m_rounds);
  column->addWidget(m_tabs);
  column->addWidget(m_pages, 1);
  connect(m_tabs, &QTabBar::currentChanged, m_pages, &QStackedWidget::setCurrentIndex);
  connect(m_tabs, &QTabBar::tabBarClicked, this, [this](int page) {
    if (page < 0) return;
    m_tabs->setCurrentIndex(page);
    sayOption("panel");
  });
  connect(m_rounds, &WlodRounds::roundPicked, this, [this] {
    m_canvas->mark({});
    sayOption("round");
  });
  connect(m_rounds, &WlodRounds::decisionChosen, this, [this](const FocusDecision& decision) {
    m_canvas->mark(decision.node);
    m_canvas->reveal(decision.node);
    m_readout->setText(decisionText(decision));
  });
  return panel;
}

void WlodTreeView::makeActions() {
  m_expandAction = addViewAction(
      tr("Expand"), tr("Replace the selected gist by its 32 children"), [this] { m_expand->click(); }, Qt::Key_E);
  m_collapseAction = addViewAction(
      tr("Collapse"), tr("Replace the selected block of 32 by its gist"), [this] { m_collapse->click(); }, Qt::Key_C);
  m_refocusAction = addViewAction(
      tr("Refocus"), tr("Let the focus allocator decide now"), [this] { m_refocus->click(); }, Qt::Key_R);
}

void WlodTreeView::onSnapshot() {
  const bool any = shown() && shown()->wlod,
             rows = any && shown()->wlod->moments > 0 && shown()->wlod->entries.size() > 0;
  setEmpty(
      rows ? QString() : tr("What of the text stands as tokens and what as gists, and what the last edit invalidated"),
      !shown()  ? noSessionHow()
          : any ? promptHow()
                : tr("This session has no wLOD. Open a wLOD Session above begins one that has; in the console "
                     "lab.open({model: \"demo\", wlod: {budget: 1024}}) does."));
  m_begin->setVisible(!any);
  for (QWidget* one : std::initializer_list<QWidget*>{m_colour, m_expand, m_collapse, m_refocus, m_readout})
    one->setVisible(rows);
  m_tree = rows ? std::make_shared<const WlodTree>(shown()) : nullptr;
  m_canvas->show(m_tree);
  if (!m_tree || m_saidIn != shown()->tick) say({});
  if (!m_tree) {
    m_state->clear();
    return buttons();
  }
  const WlodView& view = m_tree->view();
  m_facts->show(wlodFacts(view));
  m_rounds->show(view.rounds);
  m_tabs->setTabText(1, view.rounds.empty() ? tr("Rounds") : tr("Rounds (%1)").arg(view.rounds.size()));
  if (m_canvas->marked() && !m_tree->has(*m_canvas->marked())) m_canvas->mark({});
  QStringList state{(budgetShort(view) ? QStringLiteral("⚠ ") : QString()) + budgetText(view),
                    tr("%1 moments").arg(view.moments), QString::fromStdString(view.attention),
                    tr("lens %1").arg(QString::fromStdString(view.lens)),
                    tr("gists %1").arg(QString::fromStdString(view.gist).section(QLatin1Char('/'), -1))};
  m_state->setText(state.join(QStringLiteral("  ·  ")));
  showColour();
}

void WlodTreeView::showColour() {
  const int choice = m_colour->currentIndex();
  const bool changed = m_tree && m_tree->view().change;
  m_colour->setItemText(0, changed ? tr("auto: last edit") : tr("auto: level"));
  m_canvas->setColour(choice == 0 ? (changed ? TreeColour::Change : TreeColour::Level)
                                  : static_cast<TreeColour>(choice - 1));
  if (m_tree && m_canvas->colour() == TreeColour::Map) m_tiles.request(context().quantity());
  takeValues();
}

void WlodTreeView::takeValues() {
  if (m_tree && m_canvas->colour() == TreeColour::Map)
    m_canvas->setValues(
        {context().quantity(), m_tiles.best(context().quantity()), context().scale(context().quantity())});
}

/// Selects the node of the shared focus, if that is an entry or a token of the time line.
void WlodTreeView::onFocus() {
  if (!m_tree) return;
  const Focus& focus = context().focus();
  if (focus.position != m_followed.position || focus.ledger != m_followed.ledger)
    if (const auto node = focusedNode()) {
      m_canvas->select(node);
      m_canvas->reveal(*node);
    }
  m_followed = focus;
  sayReadout();
  buttons();
}

std::optional<TreeNode> WlodTreeView::focusedNode() const {
  const Focus& focus = context().focus();
  if (focus.position.value() >= 0 && focus.position.value() < m_tree->entries())
    return m_tree->entry(focus.position.value());
  if (focus.ledger.value() < 0) return {};
  const auto& tokens = m_tree->view().tokens;
  const auto found = std::find(tokens.begin(), tokens.end(), focus.ledger);
  return found == tokens.end() ? std::nullopt
                               : std::optional(TreeNode{0, static_cast<std::int32_t>(found - tokens.begin())});
}

void WlodTreeView::sayReadout() {
  m_readout->setText(m_canvas->readout());
  m_canvas->setAccessibleDescription(m_state->text() + QStringLiteral("; ") + m_canvas->readout());
}

void WlodTreeView::onTheme() {
  if (!m_message) return;
  m_facts->follow();
  m_rounds->follow();
  say(m_message->text());
}

/// Entries and tokens are ledger rows and become the shared focus; other nodes are only selected here.
void WlodTreeView::pick(TreeNode node) {
  if (!m_tree) return;
  m_canvas->select(node);
  m_canvas->reveal(node);
  const std::int32_t position = m_tree->positionOf(node);
  if (position >= 0) clickPosition(Position(position));
  else if (node.level == 0 && at(node.start) < m_tree->view().tokens.size())
    clickLedger(m_tree->view().tokens[at(node.start)]);
  else sayOption("node");
  m_canvas->select(node);
  sayReadout();
  buttons();
}

QString WlodTreeView::whyNotNow() const {
  if (!m_tree) return tr("there is no tree");
  if (m_edit.waiting() || context().busy()) return tr("the engine is working");
  if (!context().history().empty() && !newest()) return tr("an older tick is shown; go to the newest tick first");
  return {};
}

void WlodTreeView::buttons() {
  const QString now = whyNotNow();
  const auto set = [&](QToolButton* button, QAction* action, const QString& why, const QString& does) {
    button->setEnabled(why.isEmpty());
    button->setToolTip(why.isEmpty() ? does : tr("Not now: %1").arg(why));
    action->setEnabled(why.isEmpty());
    action->setToolTip(button->toolTip());
  };
  const auto edit = [&](bool expand) {
    if (!now.isEmpty()) return TreeEdit{expand, {}, now};
    if (!m_canvas->selected()) return TreeEdit{expand, {}, tr("choose a node of the tree first")};
    return expand ? m_tree->expansion(*m_canvas->selected()) : m_tree->collapse(*m_canvas->selected());
  };
  const TreeEdit up = edit(true), down = edit(false);
  const QString does = m_tree && !m_tree->roomToExpand()
      ? tr("Replace %1 by its 32 children; the budget is full, so the block to collapse first is named (E)")
      : tr("Replace %1 by its 32 children (E)");
  set(m_expand, m_expandAction, up.why, does.arg(QString::fromStdString(up.node.text())));
  set(m_collapse, m_collapseAction, down.why,
      tr("Replace the 32 children of %1 by %1 (C)").arg(QString::fromStdString(down.node.text())));
  set(m_refocus, m_refocusAction, now, tr("Run a round of the focus allocator now (R)"));
}

void WlodTreeView::ask(const TreeEdit& edit) {
  const QString now = whyNotNow(), why = now.isEmpty() ? edit.why : now;
  if (!why.isEmpty()) return say((edit.expand ? tr("not expanded: %1") : tr("not collapsed: %1")).arg(why));
  send(edit.expand ? "wlod_expand" : "wlod_collapse", {{"node", edit.node.id().value()}});
}

void WlodTreeView::refocus() {
  if (const QString why = whyNotNow(); !why.isEmpty()) return say(tr("not refocused: %1").arg(why));
  send("wlod_refocus", nlohmann::json::object());
}

/// Runs the command; a refusal is shown until the next edit or tick.
void WlodTreeView::send(const char* command, const nlohmann::json& args) {
  say({});
  m_edit.run(QLatin1String(command), args, [this, args](const Result<nlohmann::json>& reply) {
    if (const std::optional<Error> refused = refusalOf(reply)) {
      say(QString::fromStdString(refused->text()));
      m_roomless = args;
      m_room->setVisible(refused->code == "over_budget" && !args.contains("room"));
    }
    buttons();
  });
  buttons();
}

void WlodTreeView::say(const QString& text) {
  tint(m_message, theme()->error);
  m_message->setText(text.isEmpty() || text.startsWith(QChar(0x2717)) ? text : QStringLiteral("✗ ") + text);
  m_message->setVisible(!text.isEmpty());
  m_room->hide();
  m_saidIn = shown() ? shown()->tick : Tick();
}

/// Adds options that have no control in the strip.
void WlodTreeView::makeOptions() {
  using Json = nlohmann::json;
  const auto page = [this] { return kPages[m_tabs->currentIndex()]; };
  addOption({"panel", page, [this](const Json& value) -> std::string {
               const auto* const found = std::find(std::begin(kPages), std::end(kPages), value);
               if (found == std::end(kPages)) return useOneOf({std::begin(kPages), std::end(kPages)});
               m_tabs->setCurrentIndex(static_cast<int>(found - std::begin(kPages)));
               return {};
             }});
  addOption({"round", [this] { return m_rounds->chosen() ? Json(*m_rounds->chosen()) : Json(); },
             [this](const Json& value) { return setRound(value); }});
  addOption({"node", [this] { return m_canvas->selected() ? Json(m_canvas->selected()->id().value()) : Json(); },
             [this](const Json& value) { return setNode(value); }});
  addOption({"window", [this] { return window(); }, [this](const Json& value) { return setWindow(value); }});
}

std::string WlodTreeView::setRound(const nlohmann::json& value) {
  const bool number = value.is_number_integer();
  const auto round = number ? std::optional(value.get<std::int32_t>()) : std::nullopt;
  if ((!number && !value.is_null()) || !m_rounds->choose(round))
    return "give the number of a round that the strip shows, or null for the newest";
  m_canvas->mark({});
  return {};
}

nlohmann::json WlodTreeView::window() const {
  const AxisMap& axis = m_canvas->axis();
  if (axis.fitted) return nullptr;
  return {static_cast<std::int64_t>(std::floor(axis.first)),
          static_cast<std::int64_t>(std::ceil(std::min(axis.count, axis.first + axis.visible())))};
}

std::string WlodTreeView::setWindow(const nlohmann::json& value) {
  if (value.is_null()) return m_canvas->fit(), std::string();
  const bool two =
      value.is_array() && value.size() == 2 && value[0].is_number_integer() && value[1].is_number_integer();
  const std::int64_t begin = two ? value[0].get<std::int64_t>() : 0, end = two ? value[1].get<std::int64_t>() : 0;
  if (!two || begin < 0 || end <= begin || (m_tree && end > m_tree->moments()))
    return "give [begin, end] in moments of the time line, or null for all";
  m_canvas->showRange(static_cast<double>(begin), static_cast<double>(end));
  return {};
}

std::string WlodTreeView::setNode(const nlohmann::json& value) {
  const TreeNode node = value.is_number_integer() ? TreeNode::of(NodeId(value.get<std::int64_t>())) : TreeNode{-1, 0};
  if (!value.is_null() && (!m_tree || !m_tree->has(node)))
    return "give the id of a complete node, start * 4 + level, or null";
  m_canvas->select(value.is_null() ? std::nullopt : std::optional(node));
  if (!value.is_null()) m_canvas->reveal(node);
  sayReadout();
  buttons();
  return {};
}

QString WlodTreeView::dump() const {
  if (!m_tree) return QStringLiteral("tree: no wLOD\n");
  const WlodView& view = m_tree->view();
  QString out = QStringLiteral("tree: tick %1, %2\n").arg(m_tree->snapshot().tick.value()).arg(m_state->text());
  for (int level = kTopLevel; level >= 0; --level)
    out += QStringLiteral("%1: %2 complete, %3\n")
               .arg(levelText(level))
               .arg(m_tree->nodes(level))
               .arg(counted(m_tree->entriesOf(level), tr("entry"), tr("entries")));
  out += QStringLiteral("summaries: %1\nprotected from %2\n").arg(m_tree->summaries()).arg(view.protectedFrom);
  if (view.draft) out += QStringLiteral("draft [%1, %2)\n").arg(view.draft->begin).arg(view.draft->end);
  out += m_tree->runs().join(QLatin1Char('\n')) + QLatin1Char('\n');
  for (const WlodFact& fact : m_facts->facts()) out += fact.key + QStringLiteral(": ") + fact.value + QLatin1Char('\n');
  for (const auto& round : view.rounds) {
    out += roundText(*round) + QLatin1Char('\n');
    for (const FocusDecision& one : round->decisions)
      out += QStringLiteral("  ") + decisionText(one) + QLatin1Char('\n');
  }
  if (!m_message->isHidden()) out += m_message->text() + QLatin1Char('\n');
  return out + m_canvas->readout() + QLatin1Char('\n');
}

/// One line per row of the session, in order of arrival.
QString WlodTreeView::tsv() const {
  if (!m_tree) return {};
  QString out = tsvLine({tr("node"), tr("level"), tr("begin"), tr("end"), tr("position"), tr("ledger"), tr("phase"),
                         tr("score"), tr("attention"), tr("cooling"), tr("dirty"), tr("layer 0 kept")});
  const auto figure = [](float value) {
    return std::isnan(value) ? QString() : QString::number(static_cast<double>(value));
  };
  for (const WlodRow& row : m_tree->view().rows) {
    const TreeRow* known = m_tree->rowOf(row.node);
    const std::int32_t position = known ? known->position : -1;
    const bool live = position >= 0 && position < m_tree->snapshot().length();
    out += tsvLine({QString::number(row.node.id().value()), QString::number(row.node.level),
                    QString::number(row.node.start), QString::number(row.node.end()),
                    live ? QString::number(position) : QString(),
                    live ? QString::number(m_tree->snapshot().context[at(position)].value()) : QString(),
                    QString::number(row.node.phase()), figure(m_tree->score(position)), figure(m_tree->mass(position)),
                    QString::number(m_tree->cooling(position)), known ? QString::fromUtf8(name(known->why)) : QString(),
                    known && known->layer0 ? tr("yes") : tr("no")});
  }
  return out;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(WlodTreeView)
