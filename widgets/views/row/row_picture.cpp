// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/row/row_picture.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/read_reply.h"

namespace kvlab {
namespace {
RowTensor rowTensorFrom(const nlohmann::json& from) {
  RowTensor out;
  out.type = QString::fromStdString(from.at("type"));
  out.data = columnFrom(from.at("data"));
  out.norms = columnFrom(from.at("norms"));
  if (!from.at("scales").is_null()) out.scales = columnFrom(from.at("scales"));
  if (from.contains("other")) {
    out.other = columnFrom(from.at("other"));
    out.relative = columnFrom(from.at("relative"));
  }
  return out;
}

bool fits(const RowTensor& t, std::size_t heads, std::size_t dim) {
  const auto is = [](const std::vector<float>& list, std::size_t size) { return list.empty() || list.size() == size; };
  return t.data.size() == heads * dim && t.norms.size() == heads && is(t.other, heads * dim) && is(t.scales, heads) &&
      t.relative.size() == (t.other.empty() ? 0 : heads);
}

constexpr auto kRefused = "the row cannot be shown", kRemedy = "focus it again";

Error badRow(const std::string& why) { return {"bad_reply", kRefused, why, kRemedy}; }

Status readRow(RowPicture& out, const nlohmann::json& reply) {
  out.heads = reply.at("shape").at(0);
  out.dim = reply.at("shape").at(1);
  out.k = rowTensorFrom(reply.at("k"));
  out.v = rowTensorFrom(reply.at("v"));
  if (reply.contains("compared")) {
    const nlohmann::json& compared = reply.at("compared");
    out.with = QString::fromStdString(compared.at("with"));
    out.otherTick = Tick(compared.at("tick").get<std::int64_t>());
    out.there = compared.at("there");
  }
  const bool sane = out.heads > 0 && out.dim > 0;
  for (const RowTensor* one : {&out.k, &out.v})
    if (!sane || !fits(*one, at(out.heads), at(out.dim))) return badRow("the reply does not fit its shape");
  return out.k.other.empty() == out.v.other.empty() ? ok() : Status(badRow("K is compared and V is not"));
}

QString numberText(float value) { return QString::number(double(value), 'g', 7); }
}  // namespace

Result<RowPicturePtr> rowPicture(const nlohmann::json& reply) {
  auto out = std::make_shared<RowPicture>();
  KV_TRY(wholeReply(kRefused, kRemedy, [&] { return readRow(*out, reply); }));
  return RowPicturePtr(std::move(out));
}

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

QString rowTsv(const RowPicture& picture) {
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
