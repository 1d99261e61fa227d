// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/scale_menu.h"

#include <QActionGroup>
#include <QMenu>
#include <array>
#include <cmath>

#include "core/api/read_json.h"
#include "widgets/base/format.h"

namespace kvlab {
namespace {
using Curve = ScaleChoice::Curve;
using Range = ScaleChoice::Range;

const std::vector<std::string> kCurves = {"usual", "linear", "root", "log", "rank"};
const std::vector<std::string> kRanges = {"usual", "all", "line"};

/// Place of a word in a list; -1 = none.
int placeOf(const std::vector<std::string>& words, const nlohmann::json& value) {
  const auto found = std::find(words.begin(), words.end(), value);
  return found == words.end() ? -1 : static_cast<int>(found - words.begin());
}

nlohmann::json rangeWord(const ScaleChoice& choice) {
  if (choice.range == Range::Fixed) return {choice.low, choice.high};
  return kRanges[static_cast<std::size_t>(choice.range)];
}

std::string setRange(ScaleChoice& choice, const nlohmann::json& value) {
  const float low = jsonOr(element(value, 0), NAN), high = jsonOr(element(value, 1), NAN);
  if (value.is_array() && value.size() == 2 && std::isfinite(low) && std::isfinite(high) && low < high) {
    choice.range = Range::Fixed, choice.low = low, choice.high = high;
    return {};
  }
  const int range = placeOf(kRanges, value);
  if (range < 0) return useOneOf(kRanges) + ", or two numbers, the lower one first";
  choice.range = static_cast<Range>(range);
  return {};
}
}  // namespace

QString curveText(Curve curve) {
  switch (curve) {
    case Curve::Linear: return ScaleMenu::tr("linear");
    case Curve::Root: return ScaleMenu::tr("square root");
    case Curve::Log: return ScaleMenu::tr("logarithmic");
    case Curve::Rank: return ScaleMenu::tr("by rank");
    default: return ScaleMenu::tr("usual");
  }
}

QString scaleText(const ScaleChoice& choice, const QString& usual) {
  QString out = choice.curve == Curve::Usual ? usual : curveText(choice.curve);
  if (choice.range == Range::Line) out += ScaleMenu::tr(", each line by itself");
  if (choice.range == Range::Fixed) out += ScaleMenu::tr(", fixed");
  if (!choice.sinks) out += ScaleMenu::tr(", without the first %1 tokens").arg(kSinkTokens);
  return out;
}

ScaleMenu::ScaleMenu(InspectorContext& context, QToolButton* button, std::function<std::string()> of,
                     const QString& line, bool tokens)
    : QObject(button), m_context(context), m_button(button), m_of(std::move(of)) {
  addCurves();
  button->menu()->addSeparator();
  addRanges(line);
  if (tokens) addSinks();
  button->menu()->setToolTipsVisible(true);
  connect(button->menu(), &QMenu::aboutToShow, this, &ScaleMenu::showChoice);
}

QAction* ScaleMenu::add(const QString& text, const char* option,
                        const std::function<void(ScaleChoice&, bool on)>& change) {
  QAction* action = m_button->menu()->addAction(text);
  action->setCheckable(true);
  connect(action, &QAction::triggered, this, [this, option, change](bool on) {
    ScaleChoice to = choice();
    change(to, on);
    m_context.setScale(m_of(), to);
    emit chosen(option);
  });
  return action;
}

void ScaleMenu::addSinks() {
  m_button->menu()->addSeparator();
  m_sinks = add(tr("Without the first %1 tokens").arg(kSinkTokens), "sinks",
                [](ScaleChoice& to, bool without) { to.sinks = !without; });
  m_sinks->setToolTip(tr("The first tokens keep their values, but do not stretch the range"));
}

void ScaleMenu::addCurves() {
  const std::array<std::pair<QString, QString>, 5> entries{
      {{tr("Usual curve"), tr("The curve that suits the quantity")},
       {tr("Linear"), tr("Equal differences have equal steps of colour")},
       {tr("Square root"), tr("Small values get more colours than large ones")},
       {tr("Logarithmic"), tr("Equal ratios have equal steps of colour")},
       {tr("By rank"), tr("Every colour stands for as many cells as every other one")}}};
  auto* group = new QActionGroup(this);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto change = [i](ScaleChoice& to, bool) { to.curve = static_cast<Curve>(i); };
    m_curves.push_back(group->addAction(add(entries[i].first, "scale", change)));
    m_curves.back()->setToolTip(entries[i].second);
  }
}

void ScaleMenu::addRanges(const QString& line) {
  auto* group = new QActionGroup(this);
  const QString texts[] = {tr("Usual range"), tr("One range for all"), tr("A range for each %1").arg(line), {}};
  for (const Range range : {Range::Usual, Range::All, Range::Line, Range::Fixed}) {
    const auto change = [this, range](ScaleChoice& to, bool) {
      if (range == Range::Fixed && to.range != Range::Fixed) to.low = m_low, to.high = m_high;
      to.range = range;
    };
    m_ranges.push_back(group->addAction(add(texts[static_cast<std::size_t>(range)], "range", change)));
  }
}

void ScaleMenu::setEnds(float low, float high) { m_low = low, m_high = high; }

void ScaleMenu::showChoice() {
  const ScaleChoice& now = choice();
  const bool fixed = now.range == Range::Fixed;
  m_curves[static_cast<std::size_t>(now.curve)]->setChecked(true);
  m_ranges[static_cast<std::size_t>(now.range)]->setChecked(true);
  m_ranges.back()->setText(
      tr("Keep %1 to %2")
          .arg(figureText(double(fixed ? now.low : m_low)), figureText(double(fixed ? now.high : m_high))));
  m_ranges.back()->setEnabled(fixed || m_low < m_high);
  if (m_sinks) m_sinks->setChecked(!now.sinks);
}

std::vector<ViewOption> ScaleMenu::options() {
  const auto with = [this](auto change) {
    return [this, change](const nlohmann::json& value) -> std::string {
      ScaleChoice to = choice();
      if (std::string allowed = change(to, value); !allowed.empty()) return allowed;
      m_context.setScale(m_of(), to);
      return {};
    };
  };
  const auto curve = [](ScaleChoice& to, const nlohmann::json& value) -> std::string {
    const int place = placeOf(kCurves, value);
    if (place < 0) return useOneOf(kCurves);
    to.curve = static_cast<Curve>(place);
    return {};
  };
  const auto sinks = [](ScaleChoice& to, const nlohmann::json& value) -> std::string {
    if (!value.is_boolean()) return useOneOf({"true", "false"});
    to.sinks = value.get<bool>();
    return {};
  };
  std::vector<ViewOption> out{
      {"scale", [this] { return kCurves[static_cast<std::size_t>(choice().curve)]; }, with(curve)},
      {"range", [this] { return rangeWord(choice()); }, with(setRange)}};
  if (m_sinks) out.push_back({"sinks", [this] { return choice().sinks; }, with(sinks)});
  return out;
}

}  // namespace kvlab
