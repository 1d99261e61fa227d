// SPDX-License-Identifier: GPL-3.0-or-later
// The global `view` of the script language: one function per call, and their list.
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <algorithm>

#include "app/script/script_calls.h"
#include "core/verbs/verb_args.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kMostPixels = 8192, kMostIndex = (std::int64_t{1} << 31) - 1;

QString textOf(VerbArgs& in, const char* field) { return QString::fromStdString(in.text(field)); }
Result<Json> done(const Status& status) { return status ? Result<Json>(Json()) : Result<Json>(status.error()); }

QSize sizeOf(VerbArgs& in) {
  const std::int64_t width = in.integer("width", {}, 16, kMostPixels),
                     height = in.integer("height", {}, 16, kMostPixels);
  return {static_cast<int>(width), static_cast<int>(height)};
}

}  // namespace

Result<Json> ScriptCalls::viewShow(VerbArgs& in) {
  const QString id = textOf(in, "id");
  if (in.error()) return *in.error();
  return done(m_window.showView(id));
}

Result<Json> ScriptCalls::viewFocus(VerbArgs& in) {
  Json wanted = Json::object();
  for (const char* field : {"tick", "layer", "head", "row", "ledger"})
    if (in.has(field)) wanted[field] = in.integer(field, {}, 0, kMostIndex);
  if (in.error()) return *in.error();
  return done(m_window.setFocus(wanted));
}

Result<Json> ScriptCalls::viewSet(VerbArgs& in) {
  const QString id = textOf(in, "id");
  if (!in.has("options") || !in.raw("options").is_object()) in.fail("options", nullptr, "are not an object");
  if (in.error()) return *in.error();
  return done(m_window.setOptions(id, in.raw("options")));
}

Result<Json> ScriptCalls::viewTheme(VerbArgs& in) {
  const QString name = textOf(in, "name");
  if (in.error()) return *in.error();
  return done(m_window.setTheme(name));
}

Result<Json> ScriptCalls::viewSize(VerbArgs& in) {
  const QSize size = sizeOf(in);
  if (in.error()) return *in.error();
  return done(m_window.setSize(size));
}

Result<Json> ScriptCalls::viewCommand(VerbArgs& in) {
  const QString id = textOf(in, "id");
  if (in.error()) return *in.error();
  return done(m_window.runCommand(id, in.has("args") ? in.raw("args") : Json::object()));
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
  const std::string path = in.path("path");
  const Json none = Json::object();
  VerbArgs options(in.has("options") ? in.raw("options") : none);
  options.only({"width", "height", "dpr"});
  if (options.has("width") || options.has("height")) request.size = sizeOf(options);
  if (options.has("dpr")) request.dpr = options.real("dpr", 0.5, 4);
  if (in.error() || options.error()) return in.error() ? *in.error() : *options.error();
  request.path = QString::fromStdString(resolved(path, true));
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
  return Error{"not_ready", "no picture of " + request.what.toStdString() + " was written",
               "the view did not show the current tick within 60 s", "look at the log for its error"};
}

Result<Json> ScriptCalls::viewCaption(VerbArgs& in) {
  const QString text = textOf(in, "text");
  if (in.error()) return *in.error();
  const auto resumed = std::make_shared<bool>(false);
  m_window.caption(text, [resumed] { *resumed = true; });
  wait([resumed] { return *resumed; });
  if (m_stopped) return cancelled();
  return Json();
}

const ScriptCalls::ViewCall ScriptCalls::kViewCalls[] = {
    {"show", {"id"}, &ScriptCalls::viewShow},
    {"focus", {"tick", "layer", "head", "row", "ledger"}, &ScriptCalls::viewFocus},
    {"set", {"id", "options"}, &ScriptCalls::viewSet},
    {"theme", {"name"}, &ScriptCalls::viewTheme},
    {"size", {"width", "height"}, &ScriptCalls::viewSize},
    {"freezeClock", {}, &ScriptCalls::viewFreezeClock},
    {"command", {"id", "args"}, &ScriptCalls::viewCommand},
    {"list", {}, &ScriptCalls::viewList},
    {"interactive", {}, &ScriptCalls::viewInteractive},
    {"screenshot", {"what", "path", "options"}, &ScriptCalls::viewScreenshot},
    {"caption", {"text"}, &ScriptCalls::viewCaption},
};

QString ScriptCalls::view(const QString& op, const QString& args) {
  const Json given = Json::parse(args.toStdString(), nullptr, false);
  const auto call =
      std::find_if(std::begin(kViewCalls), std::end(kViewCalls), [&](const ViewCall& each) { return op == each.op; });
  if (call == std::end(kViewCalls))
    return answer(Error{"unsupported", "view." + op.toStdString() + " was not called", "there is no such call",
                        "see script_api.d.ts"});
  VerbArgs in(given);
  in.only(call->names);
  const Result<Json> result = in.error() ? Result<Json>(*in.error()) : (this->*call->run)(in);
  return answer(result ? result : VerbArgs::completed(result.error(), "view." + op.toStdString(), call->names));
}

}  // namespace kvlab
