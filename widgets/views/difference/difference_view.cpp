// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/difference/difference_view.h"

#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QToolButton>
#include <algorithm>
#include <array>

#include "core/api/lanes_view.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {

constexpr int kWide = 720, kMostLines = 9, kMostCauses = 4;
constexpr std::array kWords{"edit", "tick", "branch", "lane", "file"};  // With, in scripts

Error noPlace(const QString& why, const QString& how) {
  return {"bad_argument", "nothing was compared", why.toStdString(), how.toStdString()};
}

}  // namespace

DifferenceView::DifferenceView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_causes(new DifferenceCauses(this)),
      m_layers(new DifferentLayers(this)),
      m_rows(new DifferentRows(this)),
      m_ask(context, this, "difference") {
  makeStrip();
  makeBody();
  connect(&context, &InspectorContext::busyChanged, this, [this] {
    if (inUse()) compare();
  });
  connect(&context, &InspectorContext::selectionChanged, this, &DifferenceView::checkPick);
}

void DifferenceView::makeStrip() {
  stripLabel(tr("Compare with"));
  m_with = stripChoice({tr("before the last edit"), tr("tick"), tr("branch"), tr("lane"), tr("file")},
                       tr("Other state"), tr("The state that the shown one is compared with"));
  m_place = stripFilter({}, tr("Which tick, branch, lane or file"), {});
  addOption({"with", [this] { return nlohmann::json(withText().toStdString()); },
             [this](const nlohmann::json& value) { return setWith(value); }});
  connect(m_with, &QComboBox::activated, this, [this] {
    m_place->clear();
    chooseOther();
    sayOption("with");
  });
  connect(m_place, &QLineEdit::editingFinished, this, [this] {
    compare();
    sayOption("with");
  });
  m_state = stripLabel({}, 1);
  m_colour = stripTool(tr("Colour the map"),
                       tr("Colour map and token strip by the difference of K; the quantity of the "
                          "map has that of V as well"));
  m_place->setMinimumWidth(120);
  connect(m_colour, &QToolButton::clicked, this, [this] { context().setQuantity(Quantity::DifferenceK); });
  chooseOther();
}

void DifferenceView::makeBody() {
  const auto lines = [this](int height) {
    return std::min(height / 2, m_layersTable->tallFor(std::clamp(m_layers->rowCount(), 2, kMostLines)));
  };
  auto* split = new TurningSplitter(
      kWide, [](int width) { return width * 2 / 5; }, lines, this);
  m_layersTable =
      new DataTable(split, m_layers, tr("Difference by layers"), tr("Click a line to show the rows of the layer"));
  m_layersTable->stretch({"k", "v"});
  connect(m_layersTable, &DataTable::chosen, this,
          [this](const QModelIndex& index) { clickLayer(m_layers->at(index).layer); });
  m_rowsTable = new SortedTable(split, m_rows, tr("Rows that differ in the layer"),
                                tr("Click a line to focus the row, a column title to sort by it"));
  m_rowsTable->stretch({"token", "k", "v"});
  connect(m_rowsTable, &DataTable::chosen, this, [this](const QModelIndex& index) {
    const DifferentRow& row = m_rows->lines()[at(m_rowsTable->modelRow(index))];
    if (row.text.isEmpty()) clickLedger(layer(), row.row);
  });
  addOption(m_rowsTable->sortOption());
  connect(m_rowsTable, &SortedTable::sortedByUser, this, [this] { sayOption("sort"); });
  split->addWidget(m_layersTable);
  split->addWidget(m_rowsTable);
  auto* body = new QWidget(this);
  auto* column = tightColumn(body);
  m_causesTable =
      new DataTable(body, m_causes, tr("What explains the other program's rows"),
                    tr("The causes, what they leave over, and other explanations that were tried. Click a line, or "
                       "go up and down, to mark the rows that it accounts for; Escape ends that"));
  m_causesTable->stretch({"text"});
  connect(m_causesTable, &DataTable::chosen, this, [this](const QModelIndex& index) { pick(index.row()); });
  m_causesTable->installEventFilter(this);
  m_causesTable->hide();
  column->addWidget(m_causesTable);
  column->addWidget(split, 1);
  setContent(body);
  setMainControl(m_rowsTable);
}

QString DifferenceView::withText() const {
  const QString place = m_place->text().trimmed();
  return QLatin1String(kWords[at(m_with->currentIndex())]) + (place.isEmpty() ? QString() : u' ' + place);
}

std::string DifferenceView::setWith(const nlohmann::json& value) {
  const QString text = value.is_string() ? QString::fromStdString(value.get<std::string>()).trimmed() : QString();
  const auto word =
      std::ranges::find(kWords, text.section(u' ', 0, 0), [](const char* one) { return QLatin1String(one); });
  if (word == kWords.end()) return R"(use "edit", "tick 40", "branch main", "branch main 40", "lane 1" or "file PATH")";
  m_with->setCurrentIndex(static_cast<int>(word - kWords.begin()));
  m_place->setText(text.section(u' ', 1));
  chooseOther();
  return {};
}

DifferenceView::With DifferenceView::with() const { return static_cast<With>(m_with->currentIndex()); }

void DifferenceView::chooseOther() {
  const std::array<QString, 5> hints{QString(), tr("e.g. 40"), tr("e.g. branch-1, or branch-1 40"), tr("e.g. 1"),
                                     tr("path of a capture, or of a cache file or folder")};
  const std::array<QString, 5> tips{
      tr("The state before the last edit needs no name"), tr("Number of a tick of this branch"),
      tr("Name of a branch, and a tick of it; without a tick the present one, or the last one of the branch"),
      tr("Number of a lane; lane 0 is the one that is shown"),
      tr("A capture, which is executed to its end, or a cache file; also one of llama.cpp, vLLM, transformers and "
         "others, "
         "whose rows are explained")};
  m_place->setVisible(with() != With::Edit);
  m_place->setPlaceholderText(hints[at(m_with->currentIndex())]);
  m_place->setToolTip(tips[at(m_with->currentIndex())]);
  if (m_rowsTable) compare();
}

Result<DifferenceView::Question> DifferenceView::otherState() const {
  const QString place = m_place->text().trimmed();
  bool number = false;
  switch (with()) {
    case With::Edit: return Question{"difference", nlohmann::json::object()};
    case With::AnotherTick: {
      const int tick = place.toInt(&number);
      if (number && tick >= 0) return Question{"difference", {{"tick", tick}}};
      return noPlace(tr("no tick is named"), tr("type the number of a tick above"));
    }
    case With::AnotherBranch: {
      const QStringList words = place.split(QLatin1Char(' '), Qt::SkipEmptyParts);
      if (words.isEmpty()) return noPlace(tr("no branch is named"), tr("type the name of a branch above"));
      if (!newest())
        return noPlace(tr("an older tick is shown"), tr("show the newest tick to compare it with a branch"));
      Question out{"difference", {{"branch", words[0].toStdString()}}};
      if (words.size() > 1) out.args["tick"] = words[1].toInt(&number);
      if (words.size() == 1 || number) return out;
      return noPlace(tr("%1 is no tick").arg(words[1]), tr("type a branch and a number, or only a branch"));
    }
    case With::AnotherLane: {
      const int lane = place.toInt(&number);
      if (!shown()->lanes) return noPlace(tr("the session has no lanes"), tr("open lanes in the view Lanes"));
      if (number && lane > 0) return Question{"lanesDifference", {{"lane", 0}, {"of", lane}}};
      return noPlace(tr("no lane is named"), tr("type the number of a lane above, from 1 on"));
    }
    case With::File:
      if (!place.isEmpty()) return Question{"differenceFrom", {{"path", place.toStdString()}}};
      return noPlace(tr("no file is named"), tr("type the path of a capture or of a cache file above"));
  }
  return Question{};
}

/// An older tick gives the answer of its own time.
Result<DifferenceView::Question> DifferenceView::question() const {
  Question other = KV_TRY(otherState());
  if (newest() || other.verb == "lanesDifference") return other;
  return Question{"at", {{"tick", shown()->tick.value()}, {"verb", other.verb}, {"args", other.args}}};
}

void DifferenceView::compare() {
  if (!hasRows()) {
    m_found.reset();
    m_asked.reset();
    m_ask.forget();
    showFound();
    return setEmpty(tr("What differs between two states: tokens, rows by layer, the next token"),
                    shown() ? promptHow() : noSessionHow());
  }
  const Result<Question> wanted = question();
  if (!wanted) {
    m_asked.reset();
    m_ask.forget();
    return refuse(wanted.error());
  }
  const std::pair place(shown()->leaps, shown()->entry);
  if (m_asked == *wanted && (m_askedOf == place || context().busy())) return;
  m_asked = *wanted;
  m_askedOf = place;
  m_ask.query(wanted->verb, wanted->args, [this, of = shown()](const Result<nlohmann::json>& reply) {
    m_of = of;
    take(reply);
  });
  m_state->setText(m_found ? summary() + tr("  ·  comparing …") : tr("comparing …"));
}

void DifferenceView::take(const Result<nlohmann::json>& reply) {
  if (!reply) return refuse(reply.error());
  Result<DifferenceFound> found = differenceFound(*reply);
  if (!found) return refuse(found.error());
  m_found = found.take();
  setEmpty(QString());
  showFound();
}

void DifferenceView::refuse(const Error& error) {
  m_found.reset();
  showFound();
  const bool waits = error.code == "no_edit" || error.what == "nothing was compared";
  setEmpty(waits ? tr("Nothing to compare yet") : tr("The states were not compared"),
           sentence(error) + QLatin1Char('.'));
}

void DifferenceView::onSession() {
  m_found.reset();
  m_asked.reset();
  showFound();
}

CacheLayer DifferenceView::layer() const {
  return CacheLayer(std::clamp(context().focus().layer.value(), 0, std::max(0, m_layers->rowCount() - 1)));
}

QString DifferenceView::summary() const {
  if (!m_found) return {};
  QStringList parts;
  parts << tr("tick %1 to %2").arg(m_found->then.value()).arg(m_found->now.value());
  if (!m_found->edit.isEmpty()) parts.back() += QStringLiteral(": ") + m_found->edit;
  if (!m_found->verdict.isEmpty()) parts = {m_found->verdict};
  if (m_found->alike) parts << tr("no difference");
  if (m_found->tokensThen) parts << counted(m_found->tokensThen, tr("token left"), tr("tokens left"));
  if (m_found->tokensNow) parts << counted(m_found->tokensNow, tr("token came"), tr("tokens came"));
  if (m_found->kl) parts << tr("next token: KL %1").arg(figureText(*m_found->kl));
  return parts.join(QStringLiteral("  ·  "));
}

void DifferenceView::pick(int line) {
  m_picked = -1;
  const bool any = line >= 0;
  const DifferenceReach reach = any ? m_causes->lines()[at(line)].reach : DifferenceReach();
  if (!reach.rows.empty()) {
    Focus focus = context().focus();
    if (!reach.has(focus.layer) && !reach.layers.empty()) focus.layer = reach.layers.front();
    if (const auto info = shown() ? shown()->info : nullptr; info && info->kvHeads > 0)
      focus.head = Head(reach.kvHead * std::max(1, info->heads / info->kvHeads));
    context().setFocus(focus);
    context().focusLedger(reach.rows.front());
  }
  context().select(reach.rows.size() > 1 ? reach.rows : std::vector<LedgerId>());
  m_picked = line;
  m_pickedRows = context().selection();
  m_pickedRow = context().focus().ledger;
  if (!any) m_causesTable->setCurrentIndex({});
  drawPick();
  if (context().focus().position.value() >= 0) saySelection();
}

/// The person chose other rows: they are not those of the cause any more.
void DifferenceView::checkPick() {
  if (m_picked < 0 || (context().selection() == m_pickedRows && context().focus().ledger == m_pickedRow)) return;
  m_picked = -1;
  m_causesTable->setCurrentIndex({});
  drawPick();
}

void DifferenceView::drawPick() {
  const DifferenceReach reach = m_picked >= 0 ? m_causes->lines()[at(m_picked)].reach : DifferenceReach();
  m_layers->mark(reach);
  std::vector<LedgerId> rows = reach.has(layer()) ? reach.rows : std::vector<LedgerId>();
  std::ranges::sort(rows);
  m_rows->mark(rows);
  const QString text = m_picked >= 0 ? pickedText() : summary();
  m_state->setText(text);
  m_state->setToolTip(text);
}

QString DifferenceView::pickedText() const {
  using enum DifferenceCause::What;
  const std::vector<DifferenceCause>& lines = m_causes->lines();
  const DifferenceCause& one = lines[at(m_picked)];
  const auto left = std::ranges::find(lines, Left, &DifferenceCause::what);
  const QString rest = left == lines.end() || left->reach.text.isEmpty() ? tr("nothing remains unexplained")
                                                                         : tr("unexplained: %1").arg(left->reach.text);
  switch (one.what) {
    case Cause:
      if (one.reach.text.isEmpty()) return rest;
      return tr("accounts for %1").arg(one.reach.text) + QStringLiteral("  ·  ") + rest;
    case Left: return rest;
    case Type: return tr("%1: rounding that every row has").arg(one.text);
    case Rival: break;
  }
  return tr("another explanation, which would leave more over: %1").arg(one.text);
}

bool DifferenceView::eventFilter(QObject* watched, QEvent* event) {
  const bool key = watched == m_causesTable && event->type() == QEvent::KeyPress;
  if (!key || m_picked < 0 || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape)
    return InspectorView::eventFilter(watched, event);
  pick(-1);
  return true;
}

void DifferenceView::onFocus() {
  checkPick();
  showRows();
}

void DifferenceView::showFound() {
  m_picked = -1;
  m_causes->show(m_found ? m_found->causes : std::vector<DifferenceCause>());
  m_causesTable->setVisible(m_causes->rowCount() > 0);
  m_causesTable->setFixedHeight(m_causesTable->tallFor(std::clamp(m_causes->rowCount(), 1, kMostCauses)));
  m_rowsTable->setColumnHidden(m_rowsTable->columnOf("typed"), m_causes->rowCount() == 0);
  m_layers->show(m_found ? m_found->layers : std::vector<DifferentLayer>(), m_of);
  m_state->setText(summary());
  m_state->setToolTip(summary());
  m_layersTable->setAccessibleDescription(summary());
  m_colour->setEnabled(m_found && m_asked && m_asked->verb.starts_with("difference"));  // tiles are of the newest state
  showRows();
}

void DifferenceView::showRows() {
  if (!m_found) return m_rows->show({}, nullptr);
  m_layersTable->showRow(layer().value());
  m_rows->show(m_found->layers[at(layer())].rows, m_of);
  const int line = m_rows->lineOf(context().focus().ledger);
  if (line >= 0) m_rowsTable->showModelRow(line);
  if (m_picked >= 0) drawPick();
}

QString DifferenceView::dump() const {
  if (isEmpty()) return QStringLiteral("difference: nothing compared\n");
  return QStringLiteral("difference: %1\n").arg(summary()) +
      (m_picked >= 0 ? QStringLiteral("marked: %1\n").arg(pickedText()) : QString()) +
      (m_causes->rowCount() > 0 ? m_causesTable->tsv() : QString()) + m_layersTable->tsv() +
      QStringLiteral("rows of layer %1\n").arg(m_of ? layerText(*m_of, layer()) : QString()) + tsv();
}

QString DifferenceView::tsv() const { return m_found ? m_rowsTable->plainTsv() : QString(); }

}  // namespace kvlab

KVLAB_DEFINE_VIEW(DifferenceView)
