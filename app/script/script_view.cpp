// SPDX-License-Identifier: GPL-3.0-or-later
// The global `view` of the script language: one function per call, among them those that act like a person with mouse
// and keys, and the list of calls.
#include <algorithm>

#include "app/script/script_calls.h"
#include "core/verbs/verb_args.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kMostIndex = (std::int64_t{1} << 31) - 1;

QString textOf(const VerbArgs& in, const char* field) { return QString::fromStdString(in.text(field)); }
Result<Json> done(const Status& status) { return status ? Result<Json>(Json()) : Result<Json>(status.error()); }

ArgInfo index(const char* name) { return arg::integer(name, 0, kMostIndex).orNone(); }
ArgInfo mouseButton() { return arg::text("button", {"left", "right", "middle"}).orElse("left"); }
ArgInfo heldKeys() { return arg::text("modifiers").orElse(""); }
ArgInfo options() { return arg::of("options", ArgType::Object).orNone(); }

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

Result<Json> ScriptCalls::viewFocus(VerbArgs& in) {
  Json wanted = Json::object();
  for (const char* field : {"tick", "layer", "head", "row", "ledger"})
    if (in.has(field)) wanted[field] = in.integer(field);
  if (in.has("rows")) wanted["rows"] = in.raw("rows");
  return done(m_window.views().setFocus(wanted));
}

/// A command that an earlier one keeps from running waits for its end.
Result<Json> ScriptCalls::viewCommand(VerbArgs& in) {
  Status ran = ok();
  wait([&] {
    ran = m_window.runCommand(textOf(in, "id"), in.has("args") ? in.raw("args") : Json::object());
    return ran || ran.error().code != "engine_busy";
  });
  return done(ran);
}

Result<Json> ScriptCalls::viewCaption(VerbArgs& in) {
  const QString text = textOf(in, "text");
  const auto resumed = std::make_shared<bool>(false);
  m_window.caption(text, [resumed] { *resumed = true; });
  wait([resumed] { return *resumed; });
  if (m_stopped) return cancelled();
  return Json();
}

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

const ScriptCalls::ViewCall ScriptCalls::kViewCalls[] = {
    {"show",
     {arg::text("id")},
     [](ScriptCalls& calls, VerbArgs& in) { return done(calls.m_window.views().showView(textOf(in, "id"))); }},
    {"focus",
     {index("tick"), index("layer"), index("head"), index("row"), index("ledger"),
      arg::of("rows", ArgType::List).orNone()},
     &ScriptCalls::viewFocus},
    {"set",
     {arg::text("id"), arg::of("options", ArgType::Object)},
     [](ScriptCalls& calls, VerbArgs& in) {
       return done(calls.m_window.views().setOptions(textOf(in, "id"), in.raw("options")));
     }},
    {"theme",
     {arg::text("name")},
     [](ScriptCalls& calls, VerbArgs& in) { return done(calls.m_window.setTheme(textOf(in, "name"))); }},
    {"size",
     {arg::integer("width", kLeastPixels, kMostPixels), arg::integer("height", kLeastPixels, kMostPixels)},
     [](ScriptCalls& calls, VerbArgs& in) {
       const auto side = [&](const char* name) { return static_cast<int>(in.integer(name)); };
       return done(calls.m_window.setSize({side("width"), side("height")}));
     }},
    {"freezeClock", {}, [](ScriptCalls& calls, VerbArgs&) { return calls.m_window.freezeClock(), Json(); }},
    {"click",
     {arg::text("id"), arg::number("x", -kMostPixels, kMostPixels), arg::number("y", -kMostPixels, kMostPixels),
      mouseButton(), heldKeys(), arg::flag("twice", false)},
     &ScriptCalls::viewClick},
    {"drag",
     {arg::text("id"), arg::of("from", ArgType::List), arg::of("to", ArgType::List), mouseButton(), heldKeys()},
     &ScriptCalls::viewDrag},
    {"keys", {arg::text("id"), arg::text("keys")}, &ScriptCalls::viewKeys},
    {"type", {arg::text("id"), arg::text("text")}, &ScriptCalls::viewType},
    {"command", {arg::text("id"), arg::of("args", ArgType::Object).orNone()}, &ScriptCalls::viewCommand},
    {"list", {}, [](ScriptCalls& calls, VerbArgs&) { return Json(calls.m_window.views().viewIds()); }},
    {"interactive", {}, [](ScriptCalls& calls, VerbArgs&) { return Json(calls.m_window.interactive()); }},
    {"screenshot", {arg::text("what"), arg::writes("path"), options()}, &ScriptCalls::viewScreenshot},
    {"dump", {arg::text("what")}, &ScriptCalls::viewDump},
    {"expectImage", {arg::text("what"), arg::reads("file"), options()}, &ScriptCalls::expectImage},
    {"expectDump",
     {arg::text("what").orNone(), arg::text("value").orNone(), arg::reads("file"), options()},
     &ScriptCalls::expectDump},
    {"caption", {arg::text("text")}, &ScriptCalls::viewCaption},
};

Result<Json> ScriptCalls::view(const QString& op, const QString& args) {
  const Json given = Json::parse(args.toStdString(), nullptr, false);
  const auto call =
      std::find_if(std::begin(kViewCalls), std::end(kViewCalls), [&](const ViewCall& each) { return op == each.op; });
  const std::string name = (op.startsWith("expect") ? "" : "view.") + op.toStdString();
  if (call == std::end(kViewCalls))
    return Error("unsupported", name + " was not called", "there is no such call", "see script_api.d.ts");
  VerbArgs in(call->args, given);
  const Result<Json> result = in.error() ? Result<Json>(*in.error()) : call->run(*this, in);
  return result ? result : VerbArgs::completed(result.error(), name, call->args);
}

}  // namespace kvlab
