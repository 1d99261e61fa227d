// SPDX-License-Identifier: GPL-3.0-or-later
// The calls of `view` that act like a person: clicks, drags, keys, text.
#include <QCoreApplication>

#include "app/script/script_calls.h"
#include "core/verbs/verb_args.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;

Error badInput(const char* field, const Json& value, const std::string& why, const std::string& remedy) {
  return {"bad_argument", "nothing was sent to the view", why, remedy, field, value};
}

/// "Ctrl+Shift" as keys that are held.
Result<Qt::KeyboardModifiers> modifiersOf(const VerbArgs& in) {
  const QString text = QString::fromStdString(in.text("modifiers"));
  Qt::KeyboardModifiers out;
  for (const QString& word : text.split('+', Qt::SkipEmptyParts)) {
    const QString one = word.trimmed().toLower();
    if (one == "ctrl") out |= Qt::ControlModifier;
    else if (one == "shift") out |= Qt::ShiftModifier;
    else if (one == "alt") out |= Qt::AltModifier;
    else
      return badInput("modifiers", text.toStdString(), word.toStdString() + " is no key that is held",
                      "name some of Ctrl, Shift and Alt, as in \"Ctrl+Shift\"");
  }
  return out;
}

Result<MouseAct> actOf(const VerbArgs& in) {
  MouseAct act;
  act.modifiers = KV_TRY(modifiersOf(in));
  const std::string button = in.text("button");
  if (button != "left") act.button = button == "right" ? Qt::RightButton : Qt::MiddleButton;
  return act;
}

Result<QPointF> pointOf(const VerbArgs& in, const char* field) {
  const Json& given = in.raw(field);
  const bool two = given.size() == 2 && given[0].is_number() && given[1].is_number();
  if (two) return QPointF(given[0].get<double>(), given[1].get<double>());
  return badInput(field, given, std::string(field) + " is not [x, y]", "write two numbers, in pixels of the view");
}

}  // namespace

Result<Json> ScriptCalls::asPerson(const QString& id, const std::function<Status()>& act) {
  KV_TRY(m_window.views().bringUp(id));
  KV_TRY(waitUntilReady(PictureRequest{id}));
  KV_TRY(act());
  constexpr int kRounds = 2;  // a view asks, then commands, then asks again
  for (int i = 0; i < kRounds; ++i) KV_TRY(settle(id));
  return Json();
}

/// Waits until all queries are answered, all commands are done, and the view shows the result.
Status ScriptCalls::settle(const QString& id) {
  const SessionPtr session = m_window.session();
  const auto answered = std::make_shared<bool>(session == nullptr);
  if (session) m_window.views().whenAnswered([answered] { *answered = true; });
  wait([&] { return *answered || m_window.session() != session; });
  return waitUntilReady(PictureRequest{id});
}

Result<Json> ScriptCalls::viewClick(VerbArgs& in) {
  MouseAct act = KV_TRY(actOf(in));
  act.from = {in.number("x"), in.number("y")};
  act.twice = in.flag("twice");
  const QString id = QString::fromStdString(in.text("id"));
  return asPerson(id, [&] { return m_window.views().mouse(id, act); });
}

Result<Json> ScriptCalls::viewDrag(VerbArgs& in) {
  MouseAct act = KV_TRY(actOf(in));
  act.from = KV_TRY(pointOf(in, "from"));
  act.to = KV_TRY(pointOf(in, "to"));
  const QString id = QString::fromStdString(in.text("id"));
  return asPerson(id, [&] { return m_window.views().mouse(id, act); });
}

Result<Json> ScriptCalls::viewKeys(VerbArgs& in) {
  const std::string text = in.text("keys");
  const QKeySequence keys(QString::fromStdString(text), QKeySequence::PortableText);
  bool known = keys.count() > 0;
  for (int i = 0; i < keys.count(); ++i) known = known && keys[static_cast<uint>(i)].key() != Qt::Key_unknown;
  if (!known) return badInput("keys", text, text + " names no keys", "write \"Ctrl+Z\", \"Return\" or \"Shift+Right\"");
  const QString id = QString::fromStdString(in.text("id"));
  return asPerson(id, [&] { return m_window.views().keys(id, keys); });
}

Result<Json> ScriptCalls::viewType(VerbArgs& in) {
  const QString id = QString::fromStdString(in.text("id")), text = QString::fromStdString(in.text("text"));
  return asPerson(id, [&] { return m_window.views().type(id, text); });
}

}  // namespace kvlab
