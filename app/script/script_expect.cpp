// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures and texts of views: written, or compared with the expectations of a script.
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>

#include "app/script/script_calls.h"
#include "core/verbs/verb_args.h"
#include "widgets/base/expectation.h"
#include "widgets/base/picture_file.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;

/// Arguments of all pictures, after the further arguments of a call.
std::vector<ArgInfo> pictureOptions(std::vector<ArgInfo> more) {
  const auto side = [](const char* name) {
    return arg::integer(name, ScriptCalls::kLeastPixels, ScriptCalls::kMostPixels).orNone();
  };
  more.insert(more.end(), {side("width"), side("height"), arg::number("dpr", 0.5, 4).orElse(1)});
  return more;
}

const Json& optionsOf(const VerbArgs& in) {
  static const Json none = Json::object();
  return in.has("options") ? in.raw("options") : none;
}

QSize sizeOf(const VerbArgs& in) {
  return {static_cast<int>(in.integer("width")), static_cast<int>(in.integer("height"))};
}

/// [x, y, width, height] as a place of a picture's pixels; refused as `field` where it is something else.
QRect rectOf(VerbArgs& in, const char* field, const Json& one) {
  const bool four = one.is_array() && one.size() == 4 &&
      std::all_of(one.begin(), one.end(), [](const Json& value) { return value.is_number(); });
  if (!four) {
    in.fail(field, one, "is not [x, y, width, height]");
    return {};
  }
  const double dpr = in.number("dpr");
  const auto side = [&](int i) { return std::clamp(one[i].get<double>() * dpr, -1e6, 1e6); };
  return QRectF(side(0), side(1), side(2), side(3)).toAlignedRect();
}

QList<QRect> masksOf(VerbArgs& in) {
  QList<QRect> out;
  if (!in.has("mask")) return out;
  for (const Json& one : in.raw("mask")) out << rectOf(in, "mask", one);
  return out;
}

/// The part of a picture that is compared, and the masks in its pixels.
Status cut(VerbArgs& in, QImage& picture, QList<QRect>& masks) {
  if (!in.has("rect")) return ok();
  const QRect part = rectOf(in, "rect", in.raw("rect"));
  if (!in.error() && (part.isEmpty() || !QRect(QPoint(), picture.size()).contains(part)))
    in.fail("rect", in.raw("rect"),
            "does not lie inside the picture of " + std::to_string(picture.width()) + "x" +
                std::to_string(picture.height()) + " pixels");
  if (in.error()) return *in.error();
  picture = picture.copy(part);
  for (QRect& mask : masks) mask.translate(-part.topLeft());
  return ok();
}

QList<QRegularExpression> patternsOf(VerbArgs& in) {
  QList<QRegularExpression> out;
  if (!in.has("mask")) return out;
  for (const Json& one : in.raw("mask")) {
    const QString text = one.is_string() ? QString::fromStdString(one.get<std::string>()) : QString();
    out << QRegularExpression(text, QRegularExpression::MultilineOption);
    if (text.isEmpty() || !out.back().isValid()) in.fail("mask", one, "is not a regular expression");
  }
  return out;
}

}  // namespace

/// The picture that `options` describe; the view shows the current tick.
Result<PictureRequest> ScriptCalls::readyPicture(const QString& what, VerbArgs& options) {
  PictureRequest request;
  request.what = what;
  const bool sized = options.has("width") || options.has("height");
  for (const char* side : {"width", "height"})
    if (sized && !options.has(side)) options.fail(side, nullptr, "is missing");
  if (options.error()) return *options.error();
  if (sized) request.size = sizeOf(options);
  request.dpr = options.number("dpr");
  KV_TRY(waitUntilReady(request));
  return request;
}

Result<Json> ScriptCalls::viewScreenshot(VerbArgs& in) {
  static const std::vector<ArgInfo> kOptions = pictureOptions({});
  VerbArgs options(kOptions, optionsOf(in));
  const PictureRequest request = KV_TRY(readyPicture(QString::fromStdString(in.text("what")), options));
  const QString path = QString::fromStdString(resolved(in.text("path"), true));
  const PictureFile picture = KV_TRY(m_window.views().pictureFile(request, path));
  QDir().mkpath(QFileInfo(path).absolutePath());
  KV_TRY(savePicture(path, picture));
  return Json{{"path", path.toStdString()}, {"width", picture.size.width()}, {"height", picture.size.height()}};
}

Result<Json> ScriptCalls::viewDump(VerbArgs& in) {
  return Json(KV_TRY(dumpOf(QString::fromStdString(in.text("what")))).toStdString());
}

Result<QString> ScriptCalls::dumpOf(const QString& what) {
  KV_TRY(waitUntilReady(PictureRequest{what}));
  return m_window.views().dump(what);
}

Status ScriptCalls::waitUntilReady(const PictureRequest& request) {
  QElapsedTimer waited;
  waited.start();
  constexpr qint64 kLimitMs = 60'000;
  Result<bool> ready = false;
  wait([&] {
    ready = m_window.views().readyFor(request);
    return !ready || *ready || waited.elapsed() > kLimitMs;
  });
  if (!ready) return ready.error();
  if (m_stopped) return cancelled();
  if (*ready) return ok();
  return Error("not_ready", "no picture of " + request.what.toStdString() + " was written",
               "the view did not show the current tick within 60 s", "look at the log for its error");
}

/// Expected files stand beside the script; files of a difference go to --out.
Expectation ScriptCalls::expectation(const VerbArgs& in) const {
  const QString file = QString::fromStdString(in.text("file"));
  return {QDir::cleanPath(QDir(m_folder).filePath(file)),
          m_settings.out.isEmpty() ? QStringLiteral(".") : m_settings.out, m_settings.update};
}

Result<Json> ScriptCalls::expectImage(VerbArgs& in) {
  static const std::vector<ArgInfo> kOptions =
      pictureOptions({arg::integer("tolerance", 0, 255).orElse(0), arg::number("share", 0, 1).orElse(0),
                      arg::of("mask", ArgType::List).orNone(), arg::of("rect", ArgType::List).orNone()});
  VerbArgs options(kOptions, optionsOf(in));
  PictureRules rules;
  rules.tolerance = static_cast<int>(options.integer("tolerance"));
  rules.share = options.number("share");
  rules.masks = masksOf(options);
  const PictureRequest request = KV_TRY(readyPicture(QString::fromStdString(in.text("what")), options));
  QImage image = KV_TRY(m_window.views().picture(request));
  KV_TRY(cut(options, image, rules.masks));
  KV_TRY(expectPicture(expectation(in), image, rules));
  return Json();
}

Result<Json> ScriptCalls::expectDump(VerbArgs& in) {
  static const std::vector<ArgInfo> kOptions = {arg::of("mask", ArgType::List).orNone()};
  VerbArgs options(kOptions, optionsOf(in));
  const QList<QRegularExpression> masks = patternsOf(options);
  if (options.error()) return *options.error();
  QString text = QString::fromStdString(in.text("value"));
  if (in.has("what")) text = KV_TRY(dumpOf(QString::fromStdString(in.text("what"))));
  KV_TRY(expectText(expectation(in), text, masks));
  return Json();
}

}  // namespace kvlab
