// SPDX-License-Identifier: GPL-3.0-or-later
// The global `view` of the script language: one function per call, and the list of calls.
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <algorithm>

#include "app/script/script_calls.h"
#include "core/verbs/verb_args.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kLeastPixels = 16, kMostPixels = 8192, kMostIndex = (std::int64_t{1} << 31) - 1;

QString textOf(const VerbArgs& in, const char* field) { return QString::fromStdString(in.text(field)); }
Result<Json> done(const Status& status) { return status ? Result<Json>(Json()) : Result<Json>(status.error()); }

QSize sizeOf(const VerbArgs& in) {
  return {static_cast<int>(in.integer("width")), static_cast<int>(in.integer("height"))};
}

ArgInfo pixels(const char* name) { return arg::integer(name, kLeastPixels, kMostPixels); }
ArgInfo index(const char* name) { return arg::integer(name, 0, kMostIndex).orNone(); }

}  // namespace

Result<Json> ScriptCalls::viewShow(VerbArgs& in) { return done(m_window.showView(textOf(in, "id"))); }

Result<Json> ScriptCalls::viewFocus(VerbArgs& in) {
  Json wanted = Json::object();
  for (const char* field : {"tick", "layer", "head", "row", "ledger"})
    if (in.has(field)) wanted[field] = in.integer(field);
  return done(m_window.setFocus(wanted));
}

Result<Json> ScriptCalls::viewSet(VerbArgs& in) {
  return done(m_window.setOptions(textOf(in, "id"), in.raw("options")));
}

Result<Json> ScriptCalls::viewTheme(VerbArgs& in) { return done(m_window.setTheme(textOf(in, "name"))); }

Result<Json> ScriptCalls::viewSize(VerbArgs& in) { return done(m_window.setSize(sizeOf(in))); }

Result<Json> ScriptCalls::viewCommand(VerbArgs& in) {
  return done(m_window.runCommand(textOf(in, "id"), in.has("args") ? in.raw("args") : Json::object()));
}

Result<Json> ScriptCalls::viewFreezeClock(VerbArgs&) {
  m_window.freezeClock();
  return Json();
}

Result<Json> ScriptCalls::viewList(VerbArgs&) { return Json(m_window.viewIds()); }
Result<Json> ScriptCalls::viewInteractive(VerbArgs&) { return Json(m_window.interactive()); }

Result<Json> ScriptCalls::viewScreenshot(VerbArgs& in) {
  PictureRequest request;
  request.what = textOf(in, "what");
  static const std::vector<ArgInfo> kOptions = {pixels("width").orNone(), pixels("height").orNone(),
                                                arg::number("dpr", 0.5, 4).orElse(1)};
  const Json none = Json::object();
  VerbArgs options(kOptions, in.has("options") ? in.raw("options") : none);
  const bool sized = options.has("width") || options.has("height");
  for (const char* side : {"width", "height"})
    if (sized && !options.has(side)) options.fail(side, nullptr, "is missing");
  if (options.error()) return *options.error();
  if (sized) request.size = sizeOf(options);
  request.dpr = options.number("dpr");
  request.path = QString::fromStdString(resolved(in.text("path"), true));
  if (const Status ready = waitUntilReady(request); !ready) return ready.error();
  QDir().mkpath(QFileInfo(request.path).absolutePath());
  const auto size = m_window.savePicture(request);
  if (!size) return size.error();
  return Json{{"path", request.path.toStdString()}, {"width", size->width()}, {"height", size->height()}};
}

Status ScriptCalls::waitUntilReady(const PictureRequest& request) {
  QElapsedTimer waited;
  waited.start();
  constexpr qint64 kLimitMs = 60'000;
  Result<bool> ready = false;
  wait([&] {
    ready = m_window.readyFor(request);
    return !ready || *ready || waited.elapsed() > kLimitMs;
  });
  if (!ready) return ready.error();
  if (m_stopped) return cancelled();
  if (*ready) return ok();
  return Error("not_ready", "no picture of " + request.what.toStdString() + " was written",
               "the view did not show the current tick within 60 s", "look at the log for its error");
}

Result<Json> ScriptCalls::viewCaption(VerbArgs& in) {
  const QString text = textOf(in, "text");
  const auto resumed = std::make_shared<bool>(false);
  m_window.caption(text, [resumed] { *resumed = true; });
  wait([resumed] { return *resumed; });
  if (m_stopped) return cancelled();
  return Json();
}

const ScriptCalls::ViewCall ScriptCalls::kViewCalls[] = {
    {"show", {arg::text("id")}, &ScriptCalls::viewShow},
    {"focus", {index("tick"), index("layer"), index("head"), index("row"), index("ledger")}, &ScriptCalls::viewFocus},
    {"set", {arg::text("id"), arg::of("options", ArgType::Object)}, &ScriptCalls::viewSet},
    {"theme", {arg::text("name")}, &ScriptCalls::viewTheme},
    {"size", {pixels("width"), pixels("height")}, &ScriptCalls::viewSize},
    {"freezeClock", {}, &ScriptCalls::viewFreezeClock},
    {"command", {arg::text("id"), arg::of("args", ArgType::Object).orNone()}, &ScriptCalls::viewCommand},
    {"list", {}, &ScriptCalls::viewList},
    {"interactive", {}, &ScriptCalls::viewInteractive},
    {"screenshot",
     {arg::text("what"), arg::writes("path"), arg::of("options", ArgType::Object).orNone()},
     &ScriptCalls::viewScreenshot},
    {"caption", {arg::text("text")}, &ScriptCalls::viewCaption},
};

QString ScriptCalls::view(const QString& op, const QString& args) {
  const Json given = Json::parse(args.toStdString(), nullptr, false);
  const auto call =
      std::find_if(std::begin(kViewCalls), std::end(kViewCalls), [&](const ViewCall& each) { return op == each.op; });
  if (call == std::end(kViewCalls))
    return answer(Error("unsupported", "view." + op.toStdString() + " was not called", "there is no such call",
                        "see script_api.d.ts"));
  VerbArgs in(call->args, given);
  const Result<Json> result = in.error() ? Result<Json>(*in.error()) : (this->*call->run)(in);
  return answer(result ? result : VerbArgs::completed(result.error(), "view." + op.toStdString(), call->args));
}

}  // namespace kvlab
