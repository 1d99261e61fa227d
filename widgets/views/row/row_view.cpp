// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/row/row_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "core/api/read_json.h"
#include "widgets/base/finding_marks.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/read_reply.h"
#include "widgets/base/scale_menu.h"
#include "widgets/base/view_registry.h"
#include "widgets/canvas/axis_parts.h"

namespace kvlab {
namespace {
constexpr int kSideBySide = 760;  // strips are beside the numbers from this width on
constexpr std::size_t kMostOut = 3;

enum Compare { kNothing, kTickBefore, kRebuild };

/// The attention of one query.
struct QueryLine {
  std::vector<float> values;  // [heads][length]
  std::size_t heads = 0, length = 0;
};

/// Empty where the reply does not fit together.
QueryLine lineOf(const nlohmann::json& reply) {
  QueryLine out{columnFrom(member(reply, "values")), member(reply, "heads").size(),
                memberOr(reply, "length", std::size_t{0})};
  const bool fits = out.heads > 0 && out.values.size() % out.heads == 0 && out.values.size() / out.heads == out.length;
  return fits ? out : QueryLine();
}

QString receivedText(const nlohmann::json& reply, int row) {
  const auto [values, heads, length] = lineOf(reply);
  QStringList out;
  for (std::size_t head = 0; head < heads && row >= 0 && at(row) < length; ++head)
    out << QStringLiteral("%1: %2").arg(head).arg(shareText(double(values[head * length + at(row)])));
  return out.join(QStringLiteral("  "));
}

/// The rows that a query attends to most, mean over its heads.
QString givenText(const nlohmann::json& reply, const Snapshot& s) {
  const auto [values, heads, length] = lineOf(reply);
  std::vector<std::pair<double, int>> rows;
  for (std::size_t p = 0; p < std::min(length, s.context.size()); ++p) {
    double sum = 0;
    for (std::size_t head = 0; head < heads; ++head) sum += double(values[head * length + p]);
    if (!std::isnan(sum)) rows.emplace_back(-sum / static_cast<double>(heads), static_cast<int>(p));
  }
  std::sort(rows.begin(), rows.end());
  QStringList out;
  for (std::size_t i = 0; i < std::min(kMostOut, rows.size()); ++i)
    out << QStringLiteral("%1 %2: %3")
               .arg(rows[i].second)
               .arg(shortTokenText(s, s.context[at(rows[i].second)]), shareText(-rows[i].first));
  return out.isEmpty() ? RowView::tr("a summary asks nothing") : out.join(QStringLiteral("   "));
}

QString numberText(float value) { return QString::number(double(value), 'g', 7); }
}  // namespace

RowNumbers::RowNumbers(QObject* parent) : LineModel(parent) {
  using Line = const RowNumber&;
  const auto text = [](const std::optional<float>& value) { return value ? numberText(*value) : QString(); };
  addNumber("dimension", tr("dim"), tr("Dimension within the head"), "1000", [](Line line) {
    return QString::number(line.dimension);
  }).in(Tone::Faint);
  addNumber("k", tr("K"), tr("Stored key"), "-1.234567e-05", [](Line line) { return numberText(line.k); });
  addNumber("other_k", tr("other K"), tr("Key that is compared: of a rebuild, or of the tick before"),
            {"-1.234567e-05", 1}, [text](Line line) { return text(line.otherK); })
      .in(Tone::Muted);
  addNumber("v", tr("V"), tr("Stored value"), "-1.234567e-05", [](Line line) { return numberText(line.v); });
  addNumber("other_v", tr("other V"), tr("Value that is compared: of a rebuild, or of the tick before"),
            {"-1.234567e-05", 1}, [text](Line line) { return text(line.otherV); })
      .in(Tone::Muted);
}

void RowNumbers::show(const RowPicturePtr& picture, int head) {
  std::vector<RowNumber> lines;
  for (int i = 0; picture && i < picture->dim; ++i) {
    const int place = head * picture->dim + i;
    RowNumber& line = lines.emplace_back(RowNumber{i, picture->k.value(place), picture->v.value(place)});
    if (!picture->compares()) continue;
    line.otherK = picture->k.other[kvlab::at(place)];
    line.otherV = picture->v.other[kvlab::at(place)];
  }
  const bool same = static_cast<int>(lines.size()) == rowCount();
  replace(std::move(lines), same);
}

RowView::RowView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_model(new RowNumbers(this)),
      m_ask(context, this, "row"),
      m_run(context, this, "row measure") {
  makeStrip();
  makeBody();
  connect(&context, &InspectorContext::commandReplied, this, [this](const CommandReply& command) {
    if (m_run.waiting() || command.id != QLatin1String("row_rebuild") || !command.args.empty()) return;
    m_compared = true;
    take(command.reply);
    showState();
  });
}

void RowView::makeStrip() {
  stripLabel(tr("Compare with"));
  m_compare = stripChoice({tr("nothing"), tr("tick before"), tr("rebuild")}, tr("Compared row"),
                          tr("tick before: the row in the state before the last change. rebuild: the row as a fresh "
                             "pass computes it, which the button measures"));
  addOption("compare", {"nothing", "before", "rebuild"}, m_compare, [this] { ask(true); });
  m_rebuild = stripButton(tr("Rebuild row"), tr("Compare the row with a rebuild"), {}, "row_rebuild");
  connect(m_rebuild, &QToolButton::clicked, this, &RowView::compareWithRebuild);
  m_rotated = stripCheck(tr("Rotated"), tr("Keys rotated to their phase"),
                         tr("Show keys as attention sees them, rotated to the phase of the row"));
  addOption("rotated", m_rotated, [this] { ask(true); });
  m_scale = stripScale([] { return std::string("row"); }, tr("head"), false);
  connect(&context(), &InspectorContext::scaleChanged, this, [this] { m_canvas->setScale(context().scale("row")); });
  m_measure = stripButton(tr("Attention"), tr("Measure the attention of the row"), {}, "attention_measure");
  connect(m_measure, &QToolButton::clicked, this, &RowView::measureAttention);
}

void RowView::makeBody() {
  auto* page = new QWidget(this);
  auto* lines = tightColumn(page);
  auto* card = new QWidget(page);
  card->setObjectName("card");
  card->setAttribute(Qt::WA_StyledBackground);
  auto* facts = new QVBoxLayout(card);
  facts->setContentsMargins(Theme::kLarge, Theme::kMedium, Theme::kLarge, Theme::kMedium);
  facts->setSpacing(Theme::kSmall);
  for (QLabel** label : {&m_title, &m_state, &m_found, &m_facts, &m_attention}) {
    *label = new QLabel(card);
    (*label)->setTextFormat(Qt::PlainText);
    (*label)->setTextInteractionFlags(Qt::TextSelectableByMouse);
    (*label)->setWordWrap(true);
    (*label)->setFont(label == &m_title ? theme()->strong : theme()->small);
    (*label)->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    facts->addWidget(*label);
  }
  m_found->hide();  // without a finding it takes no room
  m_title->setObjectName("cardTitle");
  lines->addWidget(card);
  auto* split = new TurningSplitter(
      kSideBySide, [](int width) { return width * 11 / 20; }, [](int height) { return height * 11 / 20; }, page);
  m_canvas = new RowCanvas(context(), split);
  connect(m_canvas, &AxisCanvas::chosen, this, [this](CanvasCell cell) {
    chooseHead(m_canvas->head());
    m_model->show(m_canvas->picture(), m_canvas->head());
    m_table->showRow(cell.item);
  });
  m_table = new DataTable(split, m_model, tr("Numbers of the head"), tr("Click a line to mark its dimension"));
  m_table->stretch({"k", "v"});
  connect(m_table, &DataTable::chosen, this,
          [this](const QModelIndex& index) { m_canvas->choosePlace(m_canvas->head(), m_model->at(index).dimension); });
  split->addWidget(m_canvas);
  split->addWidget(m_table);
  lines->addWidget(split, 1);
  setContent(page);
  setMainControl(m_canvas);
}

SnapshotPtr RowView::askedSnapshot() const {
  const bool newest = context().following() && !context().history().empty();
  return newest ? context().history().back() : shown();
}

/// The place of the focused row in the state.
RowView::Place RowView::find() const {
  const SnapshotPtr s = askedSnapshot();
  Place out;
  if (!s || s->layers.empty() || !s->ledger.contains(context().focus().ledger)) return out;
  out.id = context().focus().ledger;
  out.layer = CacheLayer(std::clamp(context().focus().layer.value(), 0, static_cast<int>(s->layers.size()) - 1));
  out.serial = s->serial;
  const ResidencyView& map = *s->layers[at(out.layer)];
  const auto found = std::find(map.ledger.begin() + map.first, map.ledger.end(), out.id);
  if (found != map.ledger.end()) out.index = static_cast<int>(found - map.ledger.begin());
  return out;
}

nlohmann::json RowView::rowArgs() const {
  return withLayer(*askedSnapshot(), m_place.layer,
                   {{"index", m_place.index}, {"which", "both"}, {"rotated", m_rotated->isChecked()}});
}

void RowView::onSession() {
  m_place = {};
  m_ask.forget();
  m_run.forget();
  m_canvas->show(nullptr);
}

void RowView::onSnapshot() { ask(false); }
void RowView::onFocus() { ask(false); }

/// Asks for the row and its facts; anew: also where the place is the same.
void RowView::ask(bool anew) {
  const Place place = find();
  if (place == m_place && !anew) return showState();
  m_place = place;
  m_in.clear(), m_out.clear();
  m_refused.reset();
  m_compared = false;
  m_run.forget();
  m_ask.forget();
  if (place.index < 0) {
    m_canvas->show(nullptr);
    return showState();
  }
  nlohmann::json args = rowArgs();
  if (m_compare->currentIndex() == kTickBefore) args["compare"] = "before";
  m_ask.alsoQueryShown({}, "row", args, [this](const Result<nlohmann::json>& reply) {
    if (!m_compared) take(reply);
    showState();
  });
  const nlohmann::json alone{{"begin", place.index}, {"end", place.index + 1}};
  m_ask.alsoQueryShown("row facts", "table", tableArgs("rows", withLayer(*askedSnapshot(), place.layer, alone)),
                       [this](const Result<nlohmann::json>& reply) {
                         const nlohmann::json rows = reply ? recordsOf(*reply) : nlohmann::json();
                         m_stored = rows.size() == 1 ? rows[0] : nlohmann::json();
                         showState();
                       });
  showState();
}

void RowView::take(const Result<nlohmann::json>& reply) {
  Result<RowPicturePtr> picture = reply ? rowPicture(*reply) : Result<RowPicturePtr>(reply.error());
  m_refused.reset();
  if (picture) m_canvas->show(*picture);
  else m_refused = picture.error();
  if (!m_canvas->picture()) return;
  m_scale->setEnds(0, m_canvas->end());
  m_canvas->choosePlace(context().focus().head.value() / group(), m_canvas->dimension());
  m_model->show(m_canvas->picture(), m_canvas->head());
}

void RowView::compareWithRebuild() {
  if (m_place.index < 0 || m_run.waiting()) return;
  nlohmann::json args = rowArgs();
  args.erase("which");
  m_run.run(QStringLiteral("row_rebuild"), args, [this](const Result<nlohmann::json>& reply) {
    take(reply);
    showState();
  });
  showState();
}

/// First the attention of the row's own query, then the attention that the row receives from the newest query.
void RowView::measureAttention() {
  const SnapshotPtr s = askedSnapshot();
  const int row = s ? placeIn(*s, m_place.id, context().focus().position.value()) : -1;
  if (row < 0 || m_run.waiting()) return;
  askAttention(row, [this, s, row](const nlohmann::json& given) {
    m_out = givenText(given, *s);
    askAttention(s->length() - 1, [this, row](const nlohmann::json& received) { m_in = receivedText(received, row); });
  });
}

void RowView::askAttention(int query, std::function<void(const nlohmann::json&)> then) {
  const nlohmann::json args = withLayer(*askedSnapshot(), m_place.layer, {{"begin", query}, {"end", query + 1}});
  m_run.run(QStringLiteral("attention_measure"), args,
            [this, then = std::move(then)](const Result<nlohmann::json>& reply) {
              if (reply && reply->is_object()) then(*reply);
              else if (!reply) m_refused = reply.error();
              showState();
            });
  showState();
}

/// Query heads that share a KV head of the cache layer.
int RowView::group() const {
  const SnapshotPtr s = askedSnapshot();
  if (!s || !s->info || !m_canvas->picture()) return 1;
  return std::max(1, s->info->heads / s->info->cacheLayers.perLayer / m_canvas->picture()->heads);
}

void RowView::chooseHead(int head) {
  Focus to = context().focus();
  if (to.head.value() / group() == head) return;
  to.head = Head(head * group());
  context().setFocus(to);
}

QString RowView::emptyTitle() const {
  return find().id.value() >= 0 ? tr("The row has left this layer") : tr("K and V of one row, head by head");
}

QString RowView::emptyHow() const {
  if (!shown()) return noSessionHow();
  if (!hasRows()) return promptHow();
  if (find().id.value() < 0) return tr("Click a token in the map, the strip, the mirror or the ledger.");
  return tr(
      "The tick does not hold the row here. Up and down keys of the map go to other layers; Row history "
      "says when the row left.");
}

QString RowView::factText() const {
  const RowPicture& p = *m_canvas->picture();
  QStringList out{tr("K %1, V %2").arg(p.k.type, p.v.type)};
  if (m_stored.is_object()) {
    const auto number = [this](const char* key) {
      const auto found = m_stored.find(key);
      if (found == m_stored.end() || !found->is_number()) return QStringLiteral("–");
      return found->is_number_unsigned() ? QString::number(found->get<std::uint64_t>())  // a tag may have 64 bits
                                         : QString::number(found->get<double>());
    };
    const auto text = [this](const char* key) { return wordOf(memberOr(m_stored, key, std::string("–"))); };
    out << tr("slot %1").arg(number("slot")) << tr("phase %1").arg(number("phase")) << tr("tag %1").arg(number("tag"))
        << tr("checksum %1").arg(text("checksum")) << text("exactness");
  }
  const auto norm = [](const RowTensor& t) {
    double sum = 0;
    for (const float one : t.norms) sum += double(one) * double(one);
    return figureText(std::sqrt(sum));
  };
  out << tr("norm of K %1, of V %2").arg(norm(p.k), norm(p.v));
  if (p.compares()) {
    const auto worst = [](const RowTensor& t) {
      double most = 0;
      for (const float one : t.relative) most = std::isnan(one) ? NAN : std::max(most, double(one));
      return figureText(most);
    };
    out << tr("largest difference of a head: K %1, V %2").arg(worst(p.k), worst(p.v));
  }
  return out.join(QStringLiteral("  ·  "));
}

QString RowView::stateText() const {
  QStringList out;
  const SnapshotPtr s = askedSnapshot();
  if (m_refused) out << QString::fromStdString(m_refused->text());
  if (m_run.waiting()) out << tr("measuring …");
  if (s && shown() && s->tick != shown()->tick)
    out << tr("⚠ values of tick %1, shown is %2").arg(s->tick.value()).arg(shown()->tick.value());
  const RowPicturePtr& p = m_canvas->picture();
  if (p && p->with == QLatin1String("before"))
    out << (p->there ? tr("compared with tick %1").arg(p->otherTick.value())
                     : tr("the layer did not hold the row in tick %1").arg(p->otherTick.value()));
  if (p && p->with == QLatin1String("rebuild")) out << tr("compared with a rebuild");
  if (p && m_compare->currentIndex() == kRebuild && !p->compares() && !m_run.waiting())
    out << tr("“Rebuild row” computes the other row");
  return out.join(QStringLiteral("  ·  "));
}

void RowView::showState() {
  const bool some = m_canvas->picture() && m_place.index >= 0 && shown();
  setEmpty(some            ? QString()
               : m_refused ? tr("The row cannot be shown")
                           : emptyTitle(),
           m_refused ? QString::fromStdString(m_refused->text()) : emptyHow());
  const bool idle = some && !m_run.waiting() && context().following();
  for (QToolButton* button : {m_rebuild, m_measure}) button->setEnabled(idle);
  const QString wait = m_run.waiting() ? tr("A measurement is under way; Cancel (Esc) stops it")
      : some                           ? tr("An older tick is shown; go to the newest tick first")
                                       : tr("No row is shown");
  m_rebuild->setToolTip(idle ? tr("Compute the row again in a pass over the context and compare; the session stays")
                             : wait);
  m_measure->setToolTip(idle ? tr("Ask what the row's query attends to, and what the newest query gives to the row")
                             : wait);
  m_state->setText(stateText());
  m_state->setVisible(!m_state->text().isEmpty());
  if (!some) return;
  const SnapshotPtr s = askedSnapshot();
  m_title->setText(tr("%1   ledger %2   layer %3")
                       .arg(tokenText(*s, m_place.id))
                       .arg(m_place.id.value())
                       .arg(layerText(*s, m_place.layer)));
  const FindingMarks findings(*s);
  m_found->setText(findings.empty() ? QString() : findings.text(m_place.id, m_place.layer));
  m_found->setStyleSheet(QStringLiteral("color:%1").arg(theme()->error.name()));
  m_found->setVisible(!m_found->text().isEmpty());
  m_facts->setText(factText());
  m_attention->setText(m_in.isEmpty() && m_out.isEmpty()
                           ? QString()
                           : tr("Received from the newest query, by head  %1\nIts own query attends most to  %2")
                                 .arg(m_in.isEmpty() ? QStringLiteral("…") : m_in, m_out));
  m_attention->setVisible(!m_attention->text().isEmpty());
  if (m_canvas->head() != context().focus().head.value() / group()) {
    m_canvas->choosePlace(context().focus().head.value() / group(), m_canvas->dimension());
    m_model->show(m_canvas->picture(), m_canvas->head());
  }
}

QString RowView::dump() const {
  if (isEmpty()) return "row: empty\n";
  const RowPicture& p = *m_canvas->picture();
  QString out = "row: " + m_title->text() + '\n' + m_facts->text() + '\n';
  if (!m_found->text().isEmpty()) out += m_found->text() + '\n';
  if (!m_attention->text().isEmpty()) out += m_attention->text() + '\n';
  if (!m_state->text().isEmpty()) out += m_state->text() + '\n';
  for (const bool keys : {true, false})
    for (int head = 0; head < p.heads; ++head) out += m_canvas->headText(keys, head) + '\n';
  return out + m_canvas->readout() + '\n';
}

/// All heads, a line per value.
QString RowView::tsv() const {
  if (!m_canvas->picture()) return {};
  const RowPicture& picture = *m_canvas->picture();
  QString out = tsvLine({"tensor", "head", "dimension", "value", "other"});
  for (const bool keys : {true, false})
    for (int i = 0; i < picture.heads * picture.dim; ++i) {
      const RowTensor& t = picture.of(keys);
      out += tsvLine({keys ? "K" : "V", QString::number(i / picture.dim), QString::number(i % picture.dim),
                      numberText(t.value(i)), t.other.empty() ? QString() : numberText(t.other[at(i)])});
    }
  return out;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(RowView)
