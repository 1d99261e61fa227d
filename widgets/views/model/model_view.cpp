// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/model/model_view.h"

#include <QFormLayout>
#include <QHeaderView>
#include <QResizeEvent>
#include <QScrollArea>
#include <QSpinBox>
#include <QSplitter>

#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/view_registry.h"
#include "widgets/views/model/chance_model.h"

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
}  // namespace

ModelView::ModelView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new ChanceModel(this)), m_ask(context, this, "model.topk") {
  makeStrip();
  m_split = new QSplitter(Qt::Vertical, this);
  m_split->setHandleWidth(1);
  m_split->setChildrenCollapsible(false);
  m_split->installEventFilter(this);
  m_table = new DataTable(
      m_split, m_model, tr("Next tokens"),
      tr("The most likely next tokens; the mark in a bar shows the probability one tick earlier. Return or a "
         "double click appends the token to the context."));
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
  makeFacts();
  setContent(m_split);
  setMainControl(m_table);
}

void ModelView::makeStrip() {
  m_summary = stripLabel({}, 1);
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
  m_model->show(std::move(now), before());
  const auto rows = m_model->rowCount();
  m_summary->setText(
      rows == 0 ? QString()
                : tr("%1 cover %2").arg(counted(rows, tr("token"), tr("tokens")), shareText(m_model->covered())));
}

void ModelView::take(const QModelIndex& line) {
  if (!line.isValid()) return;
  context().runCommand(QStringLiteral("take_token"), {{"id", m_model->at(line).chance.id.value()}});
}

void ModelView::askMore() {
  m_ask.forget();
  m_ask.alsoQueryShown({}, "table", tableArgs("topk", {{"k", m_count->value()}}),
                       [this](const Result<nlohmann::json>& reply) {
                         std::vector<TokenChance> more;
                         if (reply)
                           for (const nlohmann::json& entry : recordsOf(*reply)) more.push_back(chanceOf(entry));
                         if (!more.empty()) showChances(std::move(more));
                       });
}

void ModelView::onSnapshot() {
  const SnapshotPtr snapshot = shown();
  const bool any = snapshot && !snapshot->topk.empty();
  setEmpty(snapshot ? QString() : tr("The next tokens and the model behind them"), noSessionHow());
  m_stale->setVisible(any && snapshot->logitsStale);
  m_ask.forget();
  m_summary->setText(snapshot && !any ? tr("no logits yet: prompt some text") : QString());
  if (any) showChances(snapshot->topk);
  else m_model->show({}, {});
  if (any && static_cast<int>(snapshot->topk.size()) < m_count->value()) askMore();
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
  const int header = m_table->horizontalHeader()->sizeHint().height();
  const int tokens = header + Theme::kRow * m_count->value() + 2;
  const int all = m_split->height();
  const int least = std::min(all / 4, 4 * Theme::kRow);
  const int wanted = m_form->hasHeightForWidth() ? m_form->heightForWidth(width()) : m_form->sizeHint().height();
  const int facts = std::clamp(all - tokens, least, std::max(least, wanted));
  m_split->setSizes({all - facts, facts});
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
  if (m_model->rowCount()) text += m_table->tsv();
  for (const auto& [name, value] : facts()) text += name + QStringLiteral(": ") + value + QLatin1Char('\n');
  return text;
}

QString ModelView::tsv() const { return m_model->rowCount() ? m_table->tsv() : QString(); }

}  // namespace kvlab

KVLAB_DEFINE_VIEW(ModelView)
