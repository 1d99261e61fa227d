// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/lanes/lanes_view.h"

#include <QLineEdit>
#include <QMenu>
#include <QToolButton>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/policy_menu.h"
#include "widgets/base/scale_menu.h"
#include "widgets/base/view_registry.h"
#include "widgets/views/lanes/lanes_model.h"

namespace kvlab {
namespace {
constexpr int kWide = 900;     // figures are beside the maps from this width on
constexpr int kMostLines = 6;  // most lines of figures below the maps before they scroll

bool isList(const nlohmann::json& changes) {
  return changes.is_array() &&
      std::all_of(changes.begin(), changes.end(), [](const auto& one) { return one.is_object(); });
}
}  // namespace

LanesTableView::LanesTableView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new LanesModel(this)) {
  makeStrip();
  makeBody();
}

QString LanesTableView::layersTip(bool losses) {
  return losses ? tr("Losses belong to tokens, not to layers")
                : tr("Show the focused layer, or one line for each layer");
}

void LanesTableView::makeStrip() {
  m_layers = stripChoice({tr("focused layer"), tr("all layers")}, tr("Layers to show"), layersTip(false));
  addOption("layers", {"focused", "all"}, m_layers, [this] { showLayer(); });
  m_colour = stripChoice({tr("rows"), tr("loss above lane 0")}, tr("Colours"),
                         tr("Colour each token by whether the lane still has its row, or by how much more surprised "
                            "by it the lane was than lane 0"));
  addOption("colour", {"rows", "loss"}, m_colour, [this] { showLayer(); });
  m_scale = stripScale([] { return std::string(name(Quantity::Surprise)); }, tr("lane"));
  connect(&context(), &InspectorContext::scaleChanged, this, [this] { m_canvas->rescale(); });
  m_state = stripLabel({}, 1);
  m_changes = new QLineEdit(this);
  m_changes->setText(QStringLiteral(R"([{"policy":"streaming_llm:ratio=0.5"},{"policy":"h2o:ratio=0.5"}])"));
  m_changes->setAccessibleName(tr("Changes of the lanes"));
  m_changes->setToolTip(tr("A list of objects with manifest keys, one for each lane besides the reference"));
  m_changes->setFont(theme()->monoSmall);
  m_changes->setMinimumWidth(200);
  strip()->addWidget(m_changes, 3);
  m_policy = stripMenu(tr("Add policy"), tr("Add a lane with a policy"),
                       tr("Add a lane with another eviction policy to the list"));
  fillPolicyMenu(m_policy->menu(), [this](const std::string& policy) { addPolicy(policy); });
  m_add = stripButton(tr("Add lane…"), tr("Add a lane by a form"),
                      tr("Add a lane to the list: its formats, layout, window or a policy with figures of its own"));
  m_open = stripButton(tr("Open lanes"), tr("Open lanes"),
                       tr("Run the session in lockstep with lanes that differ from it by these keys"));
  m_close =
      stripButton(tr("Close lanes"), tr("Close lanes"), tr("Close the lanes and keep the reference as the session"));
  connect(m_changes, &QLineEdit::returnPressed, this, &LanesTableView::open);
  connect(m_open, &QToolButton::clicked, this, &LanesTableView::open);
  setOwn({m_policy});  // only adds to the list of changes
  addOption({"changes",
             [this] {
               const auto list = nlohmann::json::parse(m_changes->text().toStdString(), nullptr, false);
               return isList(list) ? list : nlohmann::json::array();
             },
             [this](const nlohmann::json& value) -> std::string {
               if (!isList(value)) return "use a list of objects of manifest keys";
               m_changes->setText(QString::fromStdString(value.dump()));
               return {};
             }});
  runsCommand(m_add, context(), "add_lane");
  setCommand(m_open, "lanes_open");
  runsCommand(m_close, context(), "lanes_close");
}

void LanesTableView::makeBody() {
  const auto below = [this](int height) { return height - m_table->minimumHeight(); };
  auto* both = new TurningSplitter(
      kWide, [](int width) { return width / 2; }, below, this);
  m_canvas = new LanesCanvas(context(), both);
  m_table = new DataTable(both, m_model, tr("Figures of the lanes"),
                          tr("Each lane compared with the reference, over the ticks of both"));
  m_table->stretch({"lane"});
  both->addWidget(m_canvas);
  both->addWidget(m_table);
  setContent(both);
  setMainControl(m_canvas);
  setWordField(m_changes);
  m_readout = readoutLine();
  QAction* keep = addViewAction(tr("Go on with the chosen lane"),
                                tr("Close the lanes and keep the chosen lane as the session"), [this] {
                                  context().runCommand(QStringLiteral("lanes_close"), {{"lane", m_canvas->lane()}});
                                });
  setObstacle(keep, [this] { return context().obstacleOf(QStringLiteral("lanes_close")); });
  connect(m_table, &DataTable::chosen, this, [this](const QModelIndex& index) { m_canvas->setLane(index.row()); });
  connect(m_canvas, &LanesCanvas::clicked, this, [this](int lane, CacheLayer layer, int token) {
    m_canvas->setLane(lane);
    m_table->showRow(lane);
    const LedgerId id = lanes()->lanes.front().taken[at(token)];
    const Position position(placeIn(*shown(), id, -1));
    position.value() < 0 ? clickLedger(layer, id) : clickCell(layer, position);
  });
}

/// The typed list; empty if it is invalid, after showing the remedy.
std::optional<nlohmann::json> LanesTableView::changes() {
  const std::string text = m_changes->text().trimmed().toStdString();
  nlohmann::json changes = text.empty() ? nlohmann::json::array() : nlohmann::json::parse(text, nullptr, false);
  if (isList(changes)) return changes;
  emit context().failed(Error("bad_argument", "the lanes were not opened", "the changes are not a list of JSON objects",
                              R"(write them as in [{"kv": {"k": "int8"}}])", "changes", text));
  m_changes->setFocus();
  return {};
}

void LanesTableView::open() {
  const auto list = changes();
  if (list && list->empty())
    return emit context().failed({"bad_argument", "the lanes were not opened", "the list of changes is empty",
                                  "add a lane: “Add lane” does, or an object of manifest keys"});
  if (list) context().runCommand(QStringLiteral("lanes_open"), {{"changes", *list}});
}

void LanesTableView::addPolicy(const std::string& policy) {
  auto list = changes();
  if (!list) return;
  list->push_back({{"policy", policy}});
  m_changes->setText(QString::fromStdString(list->dump()));
}

void LanesTableView::onSnapshot() {
  const LanesViewPtr view = lanes();
  setEmpty(view ? QString() : tr("Runs beside this one, in lockstep on the same tokens, compared with it"),
           !shown()
               ? noSessionHow()
               : tr("Say above what each lane changes in the manifest: “Add lane” has a form for it. Then press “Open "
                    "lanes”; lab.lanes(s, [{...}]) in the console does the same beside the session"));
  for (QWidget* one : std::initializer_list<QWidget*>{m_changes, m_policy, m_add, m_open}) {
    one->setVisible(!view);
    one->setEnabled(shown() != nullptr);
  }
  m_close->setVisible(view != nullptr);
  m_readout->setVisible(view != nullptr);
  m_layers->setVisible(view != nullptr);
  m_colour->setVisible(view != nullptr);
  m_state->setText({});
  m_model->show(view);
  m_table->setMinimumHeight(m_table->tallFor(std::min(kMostLines, m_model->rowCount())));
  m_canvas->show(view);
  if (view) {
    m_table->showRow(m_canvas->lane());
    const QString ticks = counted(view->ticks, tr("tick"), tr("ticks"));
    const QString bytes = formatBytes(view->weightBytes);
    m_state->setText(view->together ? tr("%1, one pass for all lanes: %2 of weights read").arg(ticks, bytes)
                         : view->apart.empty()
                         ? ticks
                         : tr("%1, a pass for each lane: %2").arg(ticks, QString::fromStdString(view->apart)));
    m_state->setToolTip(m_state->text());
  }
  showLayer();
}

void LanesTableView::showLayer() {
  const LanesViewPtr view = lanes();
  const bool all = m_layers->currentIndex() == 1 && !losses();
  m_canvas->setLayer(all ? std::nullopt : std::optional(context().focus().layer.value()));
  m_canvas->setLosses(losses());
  m_scale->setVisible(view && losses());
  m_scale->setEnds(0, m_canvas->end());
  m_layers->setEnabled(!losses());
  m_layers->setToolTip(layersTip(losses()));
  m_layers->setItemText(0,
                        view ? tr("layer %1").arg(layerText(*view->lanes.front().snapshot, context().focus().layer))
                             : tr("focused layer"));
  sayReadout();
}

void LanesTableView::sayReadout() {
  m_readout->setText(m_canvas->readout());
  m_canvas->setAccessibleDescription(m_canvas->readout());
}

void LanesTableView::onFocus() {
  m_canvas->revealFocus();
  showLayer();
}

void LanesTableView::onTheme() {
  if (m_changes) m_changes->setFont(theme()->monoSmall);
}

QString LanesTableView::dump() const {
  const LanesViewPtr view = lanes();
  if (!view) return QStringLiteral("lanes: none\n");
  QString out = QStringLiteral("lanes: tick %1, %2\n").arg(shown()->tick.value()).arg(m_state->text()) + m_table->tsv();
  out += losses() ? lossLines(*view) : cellLines(*view);
  return out + m_canvas->readout() + QLatin1Char('\n');
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(LanesTableView)
