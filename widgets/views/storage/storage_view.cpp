// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/storage_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QMenu>
#include <QToolButton>
#include <algorithm>

#include "core/api/layout_names.h"
#include "core/api/manifest.h"
#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"
#include "widgets/views/storage/storage_model.h"

namespace kvlab {
namespace {
constexpr int kWide = 760;  // slots are beside the table from this width on
}  // namespace

StorageTableView::StorageTableView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new StorageModel(this)), m_ask(context, this, "storage.free") {
  makeStrip();
  makeBody();
}

void StorageTableView::makeStrip() {
  m_state = stripLabel({}, 1);
  stripLabel(tr("Change"));
  m_scope = stripChoice({tr("focused layer"), tr("all layers")}, tr("Layers to change"),
                        tr("Set new layouts and formats for the focused layer or for all layers"));
  m_scope->setCurrentIndex(1);
  addOption("change", {"layer", "all"}, m_scope);
  m_layout = stripMenu(tr("Layout"), tr("Set layout"), tr("Store the rows in another layout; the content is kept"));
  m_k = stripMenu(tr("K"), tr("Set K format"), tr("Convert the keys to another type"));
  m_v = stripMenu(tr("V"), tr("Set V format"), tr("Convert the values to another type"));
  for (QToolButton* one : {m_layout, m_k, m_v}) one->menu()->setToolTipsVisible(true);
  fillLayouts(m_layout->menu());
  fillTypes(m_k->menu(), true);
  fillTypes(m_v->menu(), false);
  for (const auto& [button, what] :
       {std::pair{m_layout, &StorageView::layout}, std::pair{m_k, &StorageView::k}, std::pair{m_v, &StorageView::v}})
    connect(button->menu(), &QMenu::aboutToShow, this,
            [this, menu = button->menu(), member = what] { markPresent(menu, member); });
  m_compact = stripButton(tr("Compact"), tr("Compact pages"), {});
  m_whole = stripCheck(tr("Whole pool"), tr("Show the whole pool"),
                       tr("Draw every slot of the pool, not only the slots in use and some after them"));
  setCommand(m_layout, "storage_layout");
  setCommand(m_k, "storage_format");
  setCommand(m_v, "storage_format");
  runsCommand(m_compact, context(), "storage_compact");
}

void StorageTableView::makeBody() {
  auto* split = new TurningSplitter(
      kWide, [](int width) { return width * 3 / 5; }, [](int height) { return std::min(height / 2, 180); }, this);
  m_table =
      new DataTable(split, m_model, tr("Storage by layers"), tr("Click a line to show the slots of these layers"));
  m_table->setItemDelegateForColumn(m_table->columnOf("bytes"), new BytesDelegate(m_table));
  m_table->stretch({"bytes"});
  m_map = new SlotMap(context(), split);
  split->addWidget(m_table);
  split->addWidget(m_map);
  setContent(split);
  setMainControl(m_table);
  connect(m_map, &SlotMap::clicked, this, &StorageTableView::clickPosition);
  addOption("pool", m_whole, [this] { m_map->showPool(m_whole->isChecked()); });
  connect(m_table, &DataTable::chosen, this, [this](const QModelIndex& index) {
    const CacheLayer layer = m_model->groups()[at(index.row())].layers.front();
    if (!group() || !group()->has(layer)) clickLayer(layer);
  });
}

const StorageGroup* StorageTableView::group() const { return groupOf(m_model->groups(), context().focus().layer); }

void StorageTableView::fillLayouts(QMenu* menu) {
  for (const LayoutName& one : layouts()) {
    const std::string spec = one.name == "paged" ? "paged:block=16" : std::string(one.name);
    QAction* action = menu->addAction(QString::fromStdString(spec));
    action->setToolTip(wordOf(one.help));
    connect(action, &QAction::triggered, this, [this, spec] {
      change(QStringLiteral("storage_layout"), {{"layout", spec}});
    });
  }
}

void StorageTableView::fillTypes(QMenu* menu, bool keys) {
  for (const std::string_view type : rowTypes()) {
    const std::string name(type);
    QAction* action = menu->addAction(QString::fromStdString(name));
    connect(action, &QAction::triggered, this, [this, keys, name] {
      change(QStringLiteral("storage_format"), {{"k", keys ? name : ""}, {"v", keys ? "" : name}});
    });
  }
}

void StorageTableView::markPresent(QMenu* menu, std::string StorageView::*what) const {
  for (QAction* action : menu->actions()) {
    const auto has = [&](const StorageGroup& one) { return (*one.storage).*what == action->text().toStdString(); };
    const StorageGroup* focused = group();
    action->setCheckable(true);
    action->setChecked(m_scope->currentIndex() == 0 ? focused && has(*focused)
                                                    : std::ranges::all_of(m_model->groups(), has));
  }
}

void StorageTableView::change(const QString& command, nlohmann::json args) {
  if (m_scope->currentIndex() == 0) args["layer"] = shown()->info->cacheLayers.layerOf(context().focus().layer).value();
  context().runCommand(command, args);
}

void StorageTableView::onSnapshot() {
  std::vector<StorageGroup> groups;
  if (shown()) groups = storageGroups(*shown());
  const bool any = !groups.empty();
  setEmpty(any ? QString() : tr("How rows are stored, layer by layer, and what the bytes are for"),
           shown() ? promptHow() : noSessionHow());
  const bool holes = std::any_of(groups.begin(), groups.end(), [](const StorageGroup& one) {
    return one.storage->pages && one.storage->pages->fragmentation() > 0;
  });
  tellState();
  m_compact->setEnabled(holes);
  m_compact->setToolTip(holes ? tr("Fill holes in pages step by step; Cancel (Esc) keeps finished steps")
                              : tr("No layer has pages with holes"));
  for (QToolButton* one : {m_layout, m_k, m_v}) one->setEnabled(any);
  m_model->show(std::move(groups), shown() ? FindingMarks(*shown()) : FindingMarks());
}

/// The layout that measured commits speak for, and memory.
void StorageTableView::tellState() {
  QStringList parts;
  if (shown() && !storageGroups(*shown()).empty()) {
    if (!context().clockFrozen() && newest()) parts << m_advice;  // in front, because narrow views cut the end
    parts << programMemoryText(context().programBytes()) << rowMemoryText(*shown());
  }
  parts.removeAll(QString());
  m_state->setText(parts.join(tr("; ")));
}

void StorageTableView::onFocus() {
  m_table->showRow(m_model->rowOf(context().focus().layer));
  showSlots();
}

void StorageTableView::showSlots() {
  const StorageGroup* chosen = group();
  if (!chosen || !shown()) return m_map->clear();
  const bool known = m_freeFor == shown()->serial && m_freeOf == chosen->storage.get();
  m_map->show(shown(), *chosen, slotCells(*shown(), *chosen, known ? m_free : std::nullopt));
  m_map->setAccessibleDescription(m_map->readout());
  if (!known && newest()) askFree();
}

/// Queries the free slots, which are known for the newest tick only.
void StorageTableView::askFree() {
  m_freeFor = shown()->serial;
  m_freeOf = group()->storage.get();
  m_free.reset();
  m_ask.query("storage", withLayer(*shown(), group()->layers.front(), {{"free", true}}),
              [this](const Result<nlohmann::json>& reply) {
                if (!reply || !member(*reply, "free").is_array()) return;
                m_advice = QString::fromStdString(jsonOr(member(member(*reply, "advice"), "text"), std::string()));
                tellState();
                SlotRuns runs;
                for (const nlohmann::json& run : member(*reply, "free"))
                  runs.emplace_back(jsonOr(element(run, 0), 0), jsonOr(element(run, 1), 0));
                m_free = std::move(runs);
                showSlots();
              });
}

QString StorageTableView::dump() const {
  if (m_model->rowCount() == 0) return QStringLiteral("storage: none\n");
  QString out =
      QStringLiteral("storage: tick %1, %2\n").arg(shown()->tick.value()).arg(m_state->text()) + m_table->tsv();
  if (const StorageGroup* chosen = group()) {
    out += chosen->name() + QStringLiteral(":");
    for (int use = 0; use < kCellUses; ++use)
      if (const int count = m_map->cells().counts[at(use)])
        out += QStringLiteral(" %1 %2;").arg(title(static_cast<CellUse>(use))).arg(count);
  }
  return out + QLatin1Char('\n') + m_map->readout() + QLatin1Char('\n');
}

QString StorageTableView::tsv() const { return m_model->rowCount() ? m_table->tsv() : QString(); }

}  // namespace kvlab

KVLAB_DEFINE_VIEW(StorageTableView)
