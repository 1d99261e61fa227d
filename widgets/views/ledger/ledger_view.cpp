// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/ledger/ledger_view.h"

#include <array>

#include "widgets/base/format.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
/// Names of LedgerFilter::States, for scripts and the combo box.
struct StateName {
  const char* id;
  const char* title;
};
constexpr std::array<StateName, 12> kStates = {{{"all", "all rows"},
                                                {"context", "in the context"},
                                                {"ghosts", "ghosts"},
                                                {"replaced", "replaced"},
                                                {"deleted", "deleted"},
                                                {"evicted", "evicted"},
                                                {"collapsed", "collapsed"},
                                                {"aborted", "aborted"},
                                                {"pinned", "pinned"},
                                                {"edited", "touched by edits"},
                                                {"wrong", "found wrong"},
                                                {"selected", "selected"}}};
}  // namespace

LedgerTableView::LedgerTableView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_tiles(context, "ledger", this),
      m_model(new LedgerModel(this)),
      m_table(new DataTable(this)) {
  makeStrip();
  connect(&context, &InspectorContext::selectionChanged, this, [this] {
    if (m_states->currentText() == tr("selected")) filter();
  });
  setContent(m_table);
  setMainControl(m_table);
  m_table->setModel(m_model);
  m_table->setAccessibleName(tr("Ledger"));
  m_table->setToolTip(tr("Click focuses the row in all views"));
  connect(m_table, &DataTable::chosen, this,
          [this](const QModelIndex& index) { clickLedger(m_model->idOf(index.row())); });
  connect(m_table, &DataTable::hovered, this, [this](const QModelIndex& index) {
    this->context().setHovered(Position(index.isValid() ? m_model->positionOf(m_model->idOf(index.row())) : -1));
  });
  connect(&m_tiles, &TileCache::arrived, this, [this] { m_model->setBrightness(m_tiles.shown(Quantity::Brightness)); });
}

void LedgerTableView::makeStrip() {
  m_text = stripFilter(tr("Filter by text or ledger id"), tr("Filter by text"),
                       tr("Show only rows whose token contains this text, or the row with this ledger id (/)"), 1);
  m_text->setMinimumWidth(110);
  addOption("text", m_text, [this] { filter(); });
  m_states = stripChoice({}, tr("Filter by state"), tr("Show only rows in this state"));
  std::vector<std::string> words;
  for (const StateName& state : kStates) m_states->addItem(tr(state.title)), words.emplace_back(state.id);
  m_states->setMaxVisibleItems(static_cast<int>(kStates.size()));
  addOption("state", words, m_states, [this] { filter(); });
  m_count = stripLabel(QString());
  addViewAction(
      tr("Filter"), tr("Type a text to filter by"), [this] { m_text->setFocus(Qt::ShortcutFocusReason); },
      Qt::Key_Slash);
}

void LedgerTableView::onSnapshot() {
  if (!shown() || shown()->ledger.size() == 0) {
    m_model->setSnapshot(shown());
    sayCount();
    return setEmpty(tr("Every token ever seen, with what became of it"), shown() ? promptHow() : noSessionHow());
  }
  setEmpty(QString());
  m_model->setSnapshot(shown());
  if (m_model->fitNumbers()) m_table->takeColumns();
  m_tiles.request(Quantity::Brightness);
  if (!m_tiles.atNewest()) m_model->setBrightness(m_tiles.shown(Quantity::Brightness));
  sayCount();
}

void LedgerTableView::filter() {
  const auto states = static_cast<LedgerFilter::States>(m_states->currentIndex());
  const bool selected = states == LedgerFilter::States::Selected;
  m_model->setFilter({m_text->text(), states, selected ? context().selection() : std::vector<LedgerId>()});
  onFocus();
  sayCount();
}

void LedgerTableView::sayCount() {
  const std::size_t all = shown() ? shown()->ledger.size() : 0;
  const int now = m_model->rowCount();
  m_count->setText(at(now) == all ? counted(now, tr("ledger row"), tr("ledger rows"))
                                  : tr("%1 of %2 ledger rows").arg(now).arg(all));
}

QString LedgerTableView::dump() const {
  if (isEmpty() || !shown()) return "ledger: empty\n";
  return QString("ledger: tick %1, %2\n").arg(shown()->tick.value()).arg(m_count->text()) + m_table->tsv();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(LedgerTableView)
