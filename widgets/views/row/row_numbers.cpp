// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/row/row_numbers.h"

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {

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
