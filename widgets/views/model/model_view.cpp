// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/model/model_view.h"

#include <QFormLayout>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollArea>
#include <QSpinBox>
#include <QSplitter>
#include <algorithm>
#include <cmath>

#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/theme.h"
#include "widgets/base/tokens.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
TokenChance chanceOf(const nlohmann::json& entry) {
  return {TokenId(memberOr(entry, "id", -1)), memberOr(entry, "p", 0.0f), memberOr(entry, "text", std::string())};
}

QString manifestText(const nlohmann::json& manifest, const char* key) {
  const nlohmann::json& value = member(manifest, key);
  if (value.is_null()) return {};
  if (value.is_object() && value.size() == 1 && value.contains("name"))
    return QString::fromStdString(memberOr(value, "name", std::string()));
  return QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
}

QString percent(double p) {
  if (!std::isfinite(p)) return shareText(p);
  const double value = p * 100;
  return QString::number(value, 'f', value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3) + QStringLiteral(" %");
}

QString change(double by) {
  if (!std::isfinite(by)) return shareText(by);
  if (std::abs(by) < 5e-5) return QStringLiteral("=");
  return (by > 0 ? QStringLiteral("▲ ") : QStringLiteral("▼ ")) + QString::number(std::abs(by) * 100, 'f', 2);
}

/// Bytes per second of the ops in a report, which has them with Record Ops; 0 = it has none.
double bandwidthOf(const TickReport& report) {
  constexpr int kOpDepth = 3;
  double bytes = 0, us = 0;
  for (const Event& event : report.events)
    if (event.depth >= kOpDepth && event.bytes > 0) bytes += static_cast<double>(event.bytes), us += event.us;
  return us > 0 ? 1e6 * bytes / us : 0;
}

QString gigabytes(double perSecond) { return ModelView::tr("%1 GB/s").arg(perSecond / 1e9, 0, 'f', 1); }

QString bandwidthText(const Snapshot& snapshot, double peak) {
  const double reached = snapshot.report ? bandwidthOf(*snapshot.report) : 0;
  const QString most = peak > 0 ? ModelView::tr("peak %1").arg(gigabytes(peak)) : ModelView::tr("unknown peak");
  if (reached <= 0) return ModelView::tr("%1; Record Ops (Ctrl+Shift+E) measures what a tick reaches").arg(most);
  const QString share = peak > 0 ? ModelView::tr(" (%1)").arg(percent(reached / peak)) : QString();
  return ModelView::tr("%1%2 in the ops of the tick, %3").arg(gigabytes(reached), share, most);
}

/// Facts of the device in a reply to `bytes`.
QList<std::pair<QString, QString>> deviceFacts(const nlohmann::json& bytes, const Snapshot& snapshot) {
  const nlohmann::json& device = member(bytes, "device");
  const auto count = [&](const char* key) { return memberOr(bytes, key, qint64{0}); };
  const qint64 used = memberOr(device, "used", qint64{0}), free = memberOr(device, "free", qint64{0});
  return {{ModelView::tr("Device"), QString::fromStdString(memberOr(device, "name", std::string()))},
          {ModelView::tr("Device memory"),
           ModelView::tr("%1 used by all programs, %2 free").arg(formatBytes(used), formatBytes(free))},
          {ModelView::tr("Recorded passes"),
           ModelView::tr("%1, %2, %3")
               .arg(counted(count("captures"), ModelView::tr("recording"), ModelView::tr("recordings")),
                    counted(count("replays"), ModelView::tr("replay"), ModelView::tr("replays")),
                    counted(count("waits"), ModelView::tr("wait of the host"), ModelView::tr("waits of the host")))},
          {ModelView::tr("Copies"),
           ModelView::tr("%1 with %2 to the host, %3 to the device")
               .arg(counted(count("downloads"), ModelView::tr("download"), ModelView::tr("downloads")),
                    formatBytes(count("bytesDown")), formatBytes(count("bytesUp")))},
          {ModelView::tr("Bandwidth"), bandwidthText(snapshot, memberOr(device, "bytesPerSecond", 0.0))}};
}
}  // namespace

ModelView::ModelView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_model(new ChanceModel(this)),
      m_rows(new KnockedRows(this)),
      m_ask(context, this, "model.topk") {
  makeStrip();
  m_split = new QSplitter(Qt::Vertical, this);
  m_split->setHandleWidth(1);
  m_split->setChildrenCollapsible(false);
  m_split->installEventFilter(this);
  m_table = new DataTable(
      m_split, m_model, tr("Next tokens"),
      tr("The most likely next tokens; the mark in a bar shows the probability one tick earlier, or without the rows "
         "that were knocked out. Return or a double click appends the token to the context."));
  m_table->setItemDelegateForColumn(m_table->columnOf("probability"), new ChanceDelegate(m_table));
  m_table->stretch({"probability"});
  m_table->setMinimumHeight(3 * Theme::kRow);
  connect(m_table, &QAbstractItemView::activated, this, &ModelView::take);
  QAction* append = addViewAction(tr("Append this token"), tr("Append the chosen token to the context (Return)"),
                                  [this] { take(m_table->currentIndex()); });
  setObstacle(append, [this] {
    return m_table->currentIndex().isValid() ? this->context().obstacleOf(QStringLiteral("take_token"))
                                             : tr("no token is chosen");
  });
  m_split->addWidget(m_table);
  makeRows();
  makeFacts();
  setContent(m_split);
  setMainControl(m_table);
}

/// The rows that were hidden one by one, above the facts.
void ModelView::makeRows() {
  m_rowsTable = new SortedTable(m_split, m_rows, tr("Rows that were knocked out"),
                                tr("What the next token owes to each of the rows, hidden alone; a click shows the row. "
                                   "The colour Knock-out shows the same in the map"));
  m_rowsTable->sortByColumn(m_rowsTable->columnOf("kl"), Qt::DescendingOrder);
  m_rowsTable->takeColumns();  // titles need room for the arrow
  m_rowsTable->setMinimumHeight(3 * Theme::kRow);
  m_rowsTable->hide();
  addOption(m_rowsTable->sortOption());
  connect(m_rowsTable, &SortedTable::sortedByUser, this, [this] { sayOption("sort"); });
  connect(m_rowsTable, &DataTable::chosen, this, [this](const QModelIndex& line) {
    clickLedger(m_rows->lines()[at(m_rowsTable->modelRow(line))].row.ledger);
  });
  m_split->addWidget(m_rowsTable);
  QAction* forget =
      addViewAction(tr("Compare with the tick before"), tr("Forget the rows that were knocked out"), [this] {
        context().runCommand(QStringLiteral("knock_out"), {{"ledger", nlohmann::json::array()}});
      });
  setObstacle(forget, [this] {
    if (!knockOut()) return tr("no row is knocked out");
    return context().busy() ? tr("the engine is working") : QString();
  });
}

void ModelView::makeStrip() {
  m_summary = stripLabel({}, 1);
  m_without = stripLabel({});
  m_without->setObjectName("warning");
  m_without->setFont(theme()->smallStrong);
  m_without->setToolTip(
      tr("Marks and changes show the next token without these rows; KL(with || without) in nats. The session still has "
         "the rows. The menu of the view compares with the tick before again"));
  m_stale = stripLabel(QStringLiteral("⚠ ") + tr("stale logits"));
  m_stale->setObjectName("warning");
  m_stale->setFont(theme()->smallStrong);
  m_stale->setToolTip(
      tr("An edit changed the cache after these logits were computed; the next step computes new logits"));
  stripLabel(tr("Tokens"));
  m_count = new QSpinBox(this);
  m_count->setRange(1, 200);
  m_count->setValue(10);
  m_count->setAccessibleName(tr("Number of tokens"));
  m_count->setToolTip(tr("Number of most likely next tokens to list"));
  strip()->addWidget(m_count);
  connect(m_count, &QSpinBox::valueChanged, this, &ModelView::onSnapshot);
}

void ModelView::makeFacts() {
  m_facts = new QWidget(this);
  m_facts->setObjectName(QStringLiteral("facts"));
  m_facts->setAttribute(Qt::WA_StyledBackground);
  m_form = new QFormLayout(m_facts);
  m_form->setContentsMargins(Theme::kLarge, Theme::kMedium, Theme::kLarge, Theme::kLarge);
  m_form->setHorizontalSpacing(Theme::kHuge);
  m_form->setVerticalSpacing(Theme::kSmall);
  m_form->setLabelAlignment(Qt::AlignLeft);
  m_factsArea = new QScrollArea(m_split);
  m_factsArea->setFrameShape(QFrame::NoFrame);
  m_factsArea->setWidgetResizable(true);
  m_factsArea->setFocusPolicy(Qt::NoFocus);
  m_factsArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  settleBars(m_factsArea);
  m_factsArea->setWidget(m_facts);
  m_factsArea->setMinimumHeight(2 * Theme::kRow);
  m_split->addWidget(m_factsArea);
}

std::vector<TokenChance> ModelView::before() const {
  const auto& history = context().history();
  for (auto at = history.rbegin(); at != history.rend(); ++at)
    if ((*at)->tick < shown()->tick) return (*at)->topk;
  return {};
}

void ModelView::showChances(std::vector<TokenChance> now) {
  const auto wanted = at(m_count->value());
  if (now.size() > wanted) now.resize(wanted);
  if (const KnockOut* found = knockOut()) m_model->showWithout(*shown(), *found);
  else m_model->show(std::move(now), before());
  const auto rows = m_model->rowCount();
  m_summary->setText(
      rows == 0 ? QString()
                : tr("%1 cover %2").arg(counted(rows, tr("token"), tr("tokens")), shareText(m_model->covered())));
}

/// "without “ KV” (row 12): KL 0.31"
void ModelView::showKnockOut() {
  const KnockOut* found = knockOut();
  const SnapshotPtr s = shown();
  m_without->setVisible(found);
  m_count->setEnabled(!found);  // the measurement says how many there are
  const bool list = found && found->each.size() > 1;
  if (m_rowsTable->isHidden() == list) {
    m_rowsTable->setVisible(list);
    layOut();
  }
  if (!found) return;
  const QString what = found->rows.size() == 1
      ? tr("“%1” (row %2)").arg(tokenText(*s, found->rows[0])).arg(found->rows[0].value())
      : counted(static_cast<qint64>(found->rows.size()), tr("row"), tr("rows"));
  m_without->setText(tr("without %1: KL %2").arg(what, figureText(found->kl)));
  m_rows->show(*s, *found);
}

void ModelView::take(const QModelIndex& line) {
  if (!line.isValid()) return;
  context().runCommand(QStringLiteral("take_token"), {{"id", m_model->at(line).chance.id.value()}});
}

void ModelView::askMore() {
  m_ask.alsoQueryShown({}, "table", tableArgs("topk", {{"k", m_count->value()}}),
                       [this](const Result<nlohmann::json>& reply) {
                         std::vector<TokenChance> more;
                         if (reply)
                           for (const nlohmann::json& entry : recordsOf(*reply)) more.push_back(chanceOf(entry));
                         if (!more.empty()) showChances(std::move(more));
                       });
}

void ModelView::askDevice() {
  const SnapshotPtr snapshot = shown();
  if (!snapshot || !snapshot->info || snapshot->info->backend == "cpu") return m_bytes = nullptr, void();
  m_ask.alsoQuery("device", "bytes", nlohmann::json::object(), [this](const Result<nlohmann::json>& reply) {
    m_bytes = reply ? *reply : nlohmann::json();
    fillFacts();
  });
}

void ModelView::onSnapshot() {
  const SnapshotPtr snapshot = shown();
  const bool any = snapshot && !snapshot->topk.empty();
  setEmpty(snapshot ? QString() : tr("The next tokens and the model behind them"), noSessionHow());
  m_stale->setVisible(any && snapshot->logitsStale);
  m_ask.forget();
  m_summary->setText(snapshot && !any ? tr("no logits yet: prompt some text") : QString());
  showKnockOut();
  if (any) showChances(snapshot->topk);
  else m_model->show({}, {});
  if (any && !knockOut() && static_cast<int>(snapshot->topk.size()) < m_count->value()) askMore();
  askDevice();
  fillFacts();
}

void ModelView::fillFacts() {
  const int before = m_form->rowCount();
  showFacts();
  if (m_form->rowCount() != before) layOut();
}

QList<std::pair<QString, QString>> ModelView::facts() const {
  const SnapshotPtr snapshot = shown();
  if (!snapshot || !snapshot->info || !snapshot->settings) return {};
  const SessionInfo& info = *snapshot->info;
  QList<std::pair<QString, QString>> list{
      {tr("Model"), QString::fromStdString(info.model)},
      {tr("Shape"),
       tr("%1, %2 of which %3 for K and V, head dimension %4")
           .arg(counted(info.cacheLayers.layers, tr("layer"), tr("layers")),
                counted(info.heads, tr("head"), tr("heads")))
           .arg(info.kvHeads)
           .arg(info.headDim)},
      {tr("Vocabulary"), QString::number(info.vocab)},
      {tr("Arithmetic"),
       QStringLiteral("%1 · %2").arg(QString::fromStdString(info.backend), QString::fromStdString(info.numerics))},
      {tr("Capacity"),
       tr("%1 a layer, %2 staged").arg(counted(snapshot->settings->capacity, tr("row"), tr("rows"))).arg(info.staging)},
      {tr("Rows"), rowMemoryText(*snapshot)},
      {tr("KL to a rebuild"), snapshot->kl ? formatNumber(*snapshot->kl) : tr("not measured; Measure Drift (Ctrl+D)")}};
  const std::pair<const char*, QString> keys[] = {{"weights", tr("Weights")},
                                                  {"layout", tr("Layout")},
                                                  {"position", tr("Position mode")},
                                                  {"after_edit", tr("After an edit")},
                                                  {"policy", tr("Policy")}};
  for (const auto& [key, name] : keys)
    if (const QString value = manifestText(snapshot->settings->manifest, key); !value.isEmpty())
      list.append({name, value});
  if (memberOr(member(m_bytes, "device"), "id", std::string()) == info.backend) list += deviceFacts(m_bytes, *snapshot);
  return list;
}

void ModelView::showFacts() {
  const auto list = facts();
  if (list == m_shownFacts) return;
  const auto names = [](const auto& pairs) {
    QStringList all;
    for (const auto& pair : pairs) all << pair.first;
    return all;
  };
  const bool same = names(list) == names(m_shownFacts);
  m_shownFacts = list;
  if (!same) return makeFactRows();
  for (int row = 0; row < m_form->rowCount(); ++row)
    static_cast<QLabel*>(m_form->itemAt(row, QFormLayout::FieldRole)->widget())->setText(list[row].second);
}

void ModelView::makeFactRows() {
  while (m_form->rowCount() > 0) m_form->removeRow(0);
  for (const auto& [name, value] : m_shownFacts) {
    auto* label = new QLabel(name, m_facts);
    auto* text = new QLabel(value, m_facts);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    text->setFocusPolicy(Qt::NoFocus);
    text->setWordWrap(true);
    text->setMinimumWidth(1);  // a word wider than the view is cut, and the other lines still wrap
    text->setFont(theme()->mono);
    label->setFont(theme()->ui);
    text->setObjectName(QStringLiteral("fact"));
    m_form->addRow(label, text);
    for (QLabel* one : {label, text}) one->show();  // else the height is set by the next event loop turn
  }
}

/// Divides the height: tokens first; the facts scroll in the rest.
void ModelView::layOut() {
  if (!m_form) return;
  const int tokens = m_table->tallFor(m_count->value());
  const int all = m_split->height();
  const int least = std::min(all / 4, 4 * Theme::kRow);
  const int wanted = m_form->hasHeightForWidth() ? m_form->heightForWidth(width()) : m_form->sizeHint().height();
  const int facts = std::clamp(all - tokens, least, std::max(least, wanted));
  const int rows = m_rowsTable->isHidden() ? 0 : std::min((all - facts) / 2, m_rowsTable->tallFor(m_rows->rowCount()));
  m_split->setSizes({all - facts - rows, rows, facts});
}

bool ModelView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_split && event->type() == QEvent::Resize) {
    const auto* resize = static_cast<QResizeEvent*>(event);
    if (resize->size().height() != resize->oldSize().height()) layOut();
  }
  return InspectorView::eventFilter(watched, event);
}

QString ModelView::dump() const {
  QString text = QStringLiteral("model: %1%2\n")
                     .arg(m_summary->text(), shown() && shown()->logitsStale ? tr(" (stale logits)") : QString());
  if (knockOut()) text += m_without->text() + QLatin1Char('\n');
  if (m_model->rowCount()) text += m_table->tsv();
  if (!m_rowsTable->isHidden()) text += m_rowsTable->plainTsv();
  for (const auto& [name, value] : facts()) text += name + QStringLiteral(": ") + value + QLatin1Char('\n');
  return text;
}

QString ModelView::tsv() const { return m_model->rowCount() ? m_table->tsv() : QString(); }

ChanceModel::ChanceModel(QObject* parent) : LineModel(parent) {
  using Line = const ChanceLine&;
  addNumber("rank", tr("#"), tr("Rank"), "100", [](Line line) { return QString::number(line.rank); });
  add("token", tr("Token"), tr("Text of the token; · is a space"), "xxxxxxxxxxxx", [](Line line) {
    return visibleText(QString::fromStdString(line.chance.text));
  }).in(Tone::Normal);
  add("probability", tr("Probability"),
      tr("Probability over the whole vocabulary, before sampling; the mark shows the previous tick, or the "
         "probability without the rows that were knocked out"),
      "100.00 % xxxxxxxx", [](Line line) { return percent(static_cast<double>(line.chance.p)); })
      .with(ShareRole, [](Line line) { return static_cast<double>(line.chance.p); })
      .with(OtherRole, [](Line line) { return line.other ? QVariant(static_cast<double>(*line.other)) : QVariant(); });
  addNumber("change", tr("Change"),
            tr("Change since the previous tick, or by hiding the rows that were knocked out, in percentage points"),
            {"▲ 100.00", 2},
            [](Line line) {
              if (!line.compared) return QString();
              if (!line.other) return tr("new");
              const double since = static_cast<double>(line.chance.p - *line.other);
              return change(line.without ? -since : since);
            })
      .in(Tone::Muted);
  addNumber("id", tr("Id"), tr("Token id"), {"100000", 1},
            [](Line line) { return QString::number(line.chance.id.value()); });
  withLines(Qt::ToolTipRole, [](Line line) {
    const auto p = static_cast<double>(line.chance.p);
    return tr("token %1 %2: p = %3")
        .arg(line.chance.id.value())
        .arg(visibleText(QString::fromStdString(line.chance.text)))
        .arg(std::isfinite(p) ? QString::number(p, 'g', 6) : shareText(p));
  });
  withTone([](Line) { return Tone::Faint; });
}

void ChanceModel::show(const std::vector<TokenChance>& now, const std::vector<TokenChance>& before) {
  std::vector<ChanceLine> lines;
  for (const TokenChance& chance : now) {
    const auto was =
        std::find_if(before.begin(), before.end(), [&](const auto& other) { return other.id == chance.id; });
    lines.push_back({chance, static_cast<int>(lines.size()) + 1,
                     was == before.end() ? std::nullopt : std::optional(was->p), !before.empty()});
  }
  replace(std::move(lines));
}

void ChanceModel::showWithout(const Snapshot& snapshot, const KnockOut& found) {
  std::vector<ChanceLine> lines;
  for (const KnockOut::Token& one : found.tokens) {
    const TokenChance chance{one.id, static_cast<float>(std::exp(one.with)),
                             tokenText(*snapshot.info, one.id).toStdString()};
    lines.push_back(
        {chance, static_cast<int>(lines.size()) + 1, static_cast<float>(std::exp(one.without)), true, true});
  }
  replace(std::move(lines));
}

KnockedRows::KnockedRows(QObject* parent) : LineModel(parent) {
  using Line = const KnockedRow&;
  addNumber("position", tr("Position"), tr("Position of the row in the context"), {"100000", 2}, [](Line line) {
    return line.position;
  }).key([](Line line) { return line.position.toInt(); });
  addNumber("ledger", tr("Row"), tr("Ledger id of the row"), {"100000", 1}, [](Line line) {
    return QString::number(line.row.ledger.value());
  }).key([](Line line) { return line.row.ledger.value(); });
  add("token", tr("Token"), tr("Text of the row's token; · is a space"), "xxxxxxxxxxxx", [](Line line) {
    return line.text;
  }).in(Tone::Normal);
  addNumber("kl", tr("KL"), tr("KL divergence of the next token without this row alone, in nats"), "0.0000e-00",
            [](Line line) { return figureText(line.row.kl); })
      .in(Tone::Normal)
      .key([](Line line) { return line.row.kl; });
  add("likeliest", tr("Then likeliest"), tr("The likeliest next token without this row alone"), {"xxxxxxxxxxxx", 3},
      [](Line line) { return line.likeliest; });
  withTone([](Line) { return Tone::Faint; });
}

void KnockedRows::show(const Snapshot& snapshot, const KnockOut& found) {
  std::vector<KnockedRow> lines;
  for (const KnockOut::Row& one : found.each)
    lines.push_back({one, QString::number(placeIn(snapshot, one.ledger, -1)), tokenText(snapshot, one.ledger),
                     tokenText(*snapshot.info, one.likeliest)});
  replace(std::move(lines));
}

double ChanceModel::covered() const {
  double sum = 0;
  for (const ChanceLine& line : lines()) sum += static_cast<double>(line.chance.p);
  return sum;
}

void ChanceDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  painter->setFont(theme->mono);
  const int figure = painter->fontMetrics().horizontalAdvance(QStringLiteral("99.99 %")) + Theme::kMedium;
  const QRectF room = QRectF(option.rect).adjusted(7, 5, -7 - figure, -5);
  const double share = index.data(ChanceModel::ShareRole).toDouble();
  painter->fillRect(room, theme->grid);
  painter->fillRect(QRectF(room.left(), room.top(), std::max(1.0, share * room.width()), room.height()),
                    index.row() == 0 ? theme->accent : Theme::mix(theme->surface, theme->accent, 0.6));
  const QVariant other = index.data(ChanceModel::OtherRole);
  if (other.isValid() && std::abs(other.toDouble() - share) > 5e-4)
    painter->fillRect(QRectF(room.left() + other.toDouble() * room.width() - 1, room.top() - 2, 2, room.height() + 4),
                      theme->warning);
  painter->setPen(theme->text);
  painter->drawText(QRectF(room.right(), option.rect.top(), figure + 7, option.rect.height()).adjusted(0, 0, -7, 0),
                    Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
  painter->restore();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(ModelView)
