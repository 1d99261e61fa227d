// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/audit/audit_view.h"

#include <QComboBox>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QToolButton>

#include "widgets/base/button_use.h"
#include "widgets/base/elided_label.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/policy_menu.h"
#include "widgets/base/view_registry.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
constexpr int kLampRoom = 26;

/// Each state has its own shape: a tick mark, a cross, a ring (nothing to do), a ring with a point (waiting), a dash.
void paintState(QPainter& painter, QPointF centre, AuditState state, const Theme& theme) {
  if (state >= AuditState::Holds) return paintLamp(painter, centre, 6, state == AuditState::Holds, theme);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(state == AuditState::KeepsAll ? theme.faint : theme.muted, 1.5));
  painter.setBrush(Qt::NoBrush);
  if (state == AuditState::KeepsAll) painter.drawLine(centre + QPointF(-4.5, 0), centre + QPointF(4.5, 0));
  else paintRing(painter, centre, theme);
  if (state == AuditState::Waits) {
    painter.drawLine(centre, centre + QPointF(0, -3));
    painter.drawLine(centre, centre + QPointF(2.2, 1));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void hatch(QPainter& painter, const QRectF& box, const Theme& theme) {
  painter.fillRect(box, Theme::mix(theme.surface, theme.error, 0.45));
  painter.save();
  painter.setClipRect(box, Qt::IntersectClip);
  painter.setPen(QPen(theme.error, 1.2));
  for (double x = box.left() - box.height(); x < box.right(); x += 4)
    painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
  painter.restore();
}

void paintBar(QPainter& painter, const QRectF& room, const AuditLine& line, const Theme& theme) {
  const double length = std::max(1, line.length), wide = room.width();
  const bool bounded = line.audit.bounded;
  const double asked = bounded ? std::min<double>(line.allowed(), length) : length;
  const auto x = [&](double rows) { return room.left() + std::round(rows / length * wide); };
  painter.fillRect(room, theme.sunken);
  const QColor rows = bounded ? Theme::mix(theme.surface, theme.accent, theme.dark ? 0.75 : 0.7)
                              : Theme::mix(theme.surface, theme.muted, 0.35);
  painter.fillRect(
      QRectF(QPointF(room.left(), room.top()), QPointF(x(std::min<double>(line.rows, asked)), room.bottom())), rows);
  if (line.rows > asked)
    hatch(painter, QRectF(QPointF(x(asked), room.top()), QPointF(x(line.rows), room.bottom())), theme);
  if (!bounded) return;
  painter.setPen(QPen(theme.text, 1));
  const double right = x(asked), top = room.top() - 2.5, bottom = room.bottom() + 1.5;
  painter.drawLine(QPointF(room.left() - 0.5, top), QPointF(right, top));
  painter.drawLine(QPointF(room.left() - 0.5, bottom), QPointF(right, bottom));
  painter.drawLine(QPointF(room.left() - 0.5, top), QPointF(room.left() - 0.5, bottom));
  if (line.allowed() <= line.length)
    painter.drawLine(QPointF(right - 0.5, top), QPointF(right - 0.5, bottom));  // open at the right: there was room
}

/// Paints the state of an audit line as a lamp with words, and its rows as a bar over the length of the context: a
/// frame for the requested rows, a fill for the resident rows, red and hatched beyond the frame.
class AuditDelegate : public DataDelegate {
 public:
  enum Column { State, Share };
  AuditDelegate(Column paints, QObject* parent) : DataDelegate(parent), m_paints(paints) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto& line = *index.data(AuditModel::LineRole).value<const AuditLine*>();
    const auto theme = Theme::current();
    painter->save();
    paintBack(*painter, option, index, *theme);
    if (m_paints == State) {
      paintState(*painter, QPointF(option.rect.left() + 14, option.rect.center().y() + 0.5), line.state, *theme);
      painter->setFont(theme->ui);
      painter->setPen(line.bad() ? theme->error : line.state == AuditState::Holds ? theme->text : theme->muted);
      const QRect inner = option.rect.adjusted(kLampRoom, 0, -7, 0);
      painter->drawText(inner, Qt::AlignVCenter,
                        painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, inner.width()));
    } else {
      painter->setFont(theme->mono);
      const int figure = painter->fontMetrics().horizontalAdvance(QStringLiteral("100 %")) + Theme::kMedium;
      paintBar(*painter, QRectF(option.rect).adjusted(8, 7, -7 - figure, -7), line, *theme);
      painter->setPen(theme->muted);
      painter->drawText(option.rect.adjusted(0, 0, -7, 0), Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
    }
    painter->restore();
  }

 private:
  Column m_paints;
};

QString part(std::int64_t some, std::int64_t all) {
  return all > 0
      ? QString::number(100.0 * static_cast<double>(some) / static_cast<double>(all), 'f', 0) + QStringLiteral(" %")
      : QStringLiteral("–");
}
}  // namespace

AuditView::AuditView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new AuditModel(this)) {
  makeStrip();
  makeTable();
}

void AuditView::makeStrip() {
  m_state = stripLabel({}, 1);
  stripLabel(tr("Set"));
  m_scope = stripChoice({tr("focused layer"), tr("all layers")}, tr("Layers to set"),
                        tr("Set new policies for the focused layer or for all layers"));
  m_scope->setCurrentIndex(1);
  addOption("change", {"layer", "all"}, m_scope);
  m_policy = stripMenu(tr("Policy"), tr("Set policy"), tr("Choose another eviction policy, from the next tick on"));
  setCommand(m_policy, "policy_set");
  fillPolicyMenu(m_policy->menu(), [this](const std::string& policy) { setPolicy(policy); });
}

void AuditView::makeTable() {
  auto* content = new QWidget(this);
  auto* column = tightColumn(content);
  m_banner = new ElidedLabel(content);
  m_banner->setObjectName("card");
  m_banner->setFixedHeight(28);
  m_banner->setIndent(Theme::kMedium);
  m_banner->setFont(theme()->ui);
  m_banner->hide();
  m_table = new SortedTable(
      content, m_model, tr("Policies by layer"),
      tr("Click a line to focus the layer, a column title to sort by it; click again to reverse the order"));
  const int share = m_table->columnOf("share"), state = m_table->columnOf("state");
  m_table->setItemDelegateForColumn(share, new AuditDelegate(AuditDelegate::Share, m_table));
  m_table->setItemDelegateForColumn(state, new AuditDelegate(AuditDelegate::State, m_table));
  m_table->stretch({"share"});
  m_table->takeColumns();  // titles need room for the arrow
  connect(m_table, &SortedTable::sorted, this, &AuditView::onFocus);
  connect(m_table, &SortedTable::sortedByUser, this, [this] { sayOption("sort"); });
  addOption(m_table->sortOption());
  column->addWidget(m_banner);
  column->addWidget(m_table, 1);
  setContent(content);
  setMainControl(m_table);
  m_total = readoutLine();
  connect(m_table, &DataTable::chosen, this,
          [this](const QModelIndex& index) { clickLayer(m_model->lines()[at(m_table->modelRow(index))].layer); });
  addViewAction(
      tr("Order by the next column"), tr("Sort the layers by the next column of the table"),
      [this] { m_table->sortByNext(); }, Qt::Key_S);
}

void AuditView::setPolicy(const std::string& policy) {
  nlohmann::json args{{"policy", policy}};
  if (m_scope->currentIndex() == 0) args["layer"] = shown()->info->cacheLayers.layerOf(context().focus().layer).value();
  context().runCommand(QStringLiteral("policy_set"), args);
}

void AuditView::onSnapshot() {
  std::vector<AuditLine> lines;
  if (shown()) lines = auditLines(*shown(), context().history());
  const bool any = !lines.empty();
  const QString how = shown() ? tr("Every layer keeps all its rows now. “Policy” above, s.settings({policy: "
                                   "\"h2o:ratio=0.25\"}) in the console or the "
                                   "manifest's key `policy` sets another.")
                              : noSessionHow();
  setEmpty(any ? QString() : tr("What each layer's eviction policy was asked for, what it did and what it cost"), how);
  m_policy->setEnabled(shown() != nullptr);
  m_model->show(std::move(lines));
  m_total->setVisible(any);
  m_banner->setVisible(any && shown()->policies->prefilling);
  m_banner->setText(
      tr("The prompt is still coming in: nothing is evicted before it ends (s.endPrefill(), or the next tick)"));
  say();
}

void AuditView::say() {
  if (m_model->lines().empty()) {
    m_state->clear();
    return m_total->clear();
  }
  const AuditTotal t = totalOf(m_model->lines());
  const auto layers = static_cast<qint64>(m_model->lines().size());
  QStringList state;
  const bool byHead = shown()->info && shown()->info->cacheLayers.byHead();
  const QString all =
      byHead ? counted(layers, tr("KV head"), tr("KV heads")) : counted(layers, tr("layer"), tr("layers"));
  state << (t.bad ? tr("%1 of %2 not as requested").arg(t.bad).arg(all) : tr("%1 as requested").arg(all));
  if (t.fallbacks) state << counted(t.fallbacks, tr("fallback"), tr("fallbacks"));
  state << tr("tick %1").arg(shown()->tick.value());
  m_state->setText(state.join(QStringLiteral("  ·  ")));
  m_total->setText(QStringList{tr("rows %1 of %2 (%3)").arg(t.rows).arg(t.fullRows).arg(part(t.rows, t.fullRows)),
                               tr("%1 of %2").arg(formatBytes(t.bytes), formatBytes(t.fullBytes)),
                               tr("requested %1 rows").arg(t.requestedRows),
                               tr("last decision %1").arg(formatMicroseconds(shown()->policies->us))}
                       .join(QStringLiteral("   ")));
  m_table->setAccessibleDescription(m_state->text() + QStringLiteral("; ") + m_total->text());
}

void AuditView::onFocus() { m_table->showModelRow(m_model->rowOf(context().focus().layer)); }

QString AuditView::dump() const {
  if (m_model->rowCount() == 0) return QStringLiteral("audit: every layer keeps all its rows\n");
  return QStringLiteral("audit: %1\n").arg(m_state->text()) +
      (shown()->policies->prefilling ? m_banner->text() + QLatin1Char('\n') : QString()) + tsv() + m_total->text() +
      QLatin1Char('\n');
}

QString AuditView::tsv() const { return m_model->rowCount() ? m_table->plainTsv() : QString(); }

}  // namespace kvlab

KVLAB_DEFINE_VIEW(AuditView)
