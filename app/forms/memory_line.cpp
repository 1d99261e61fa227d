// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/memory_line.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>

#include "app/base/manifest_path.h"
#include "core/api/guarded.h"
#include "core/api/manifest_values.h"
#include "core/api/read_json.h"
#include "widgets/base/format.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr int kRestMs = 200;  // ms after the last change

QString bytesAt(const json& need, const char* key) { return formatBytes(memberOr(need, key, qint64{0})); }

/// "layers 0-3 ring_fused K f32 V int8 192 bytes a row", a line each.
QString layersText(const json& need) {
  QStringList out;
  for (const json& one : member(need, "rows"))
    out << MemoryLine::tr("Layers %1 to %2: %3, K %4, V %5, %6 bytes a row, %7 slots")
               .arg(jsonOr(element(member(one, "layers"), 0), 0))
               .arg(jsonOr(element(member(one, "layers"), 1), 0))
               .arg(manifestText(member(one, "layout")), manifestText(member(one, "k")), manifestText(member(one, "v")))
               .arg(memberOr(one, "row_bytes", qint64{0}))
               .arg(memberOr(one, "slots", qint64{0}));
  return out.join('\n');
}

}  // namespace

MemoryLine::MemoryLine(MemoryAsk count, QWidget* parent) : QLabel(parent), m_count(std::move(count)) {
  setObjectName("memory");
  setWordWrap(true);
  setAccessibleName(tr("Memory of the session"));
  setForegroundRole(QPalette::PlaceholderText);
  m_wait.setSingleShot(true);
  connect(&m_wait, &QTimer::timeout, this, &MemoryLine::count);
}

void MemoryLine::ask(const json& manifest) {
  m_manifest = manifest;
  m_wait.start(kRestMs);
}

/// Weights of a synthetic model are made when it opens, which takes as much memory as the session would.
void MemoryLine::count() {
  if (m_counting) return m_wait.start(kRestMs);
  if (manifestText(manifestValue(m_manifest, "model")).startsWith("synthetic:"))
    return setText(tr("Memory: a synthetic model is made when it opens; kvlab info tells what it takes."));
  m_counting = true;
  QThreadPool::globalInstance()->start([ask = m_count, manifest = m_manifest, self = QPointer<MemoryLine>(this)] {
    const auto need =
        std::make_shared<Result<json>>(guarded("the memory was not counted", [&] { return ask(manifest); }));
    QMetaObject::invokeMethod(
        qApp,
        [self, need] {
          if (self) self->show(*need);
        },
        Qt::QueuedConnection);
  });
}

void MemoryLine::show(const Result<json>& need) {
  m_counting = false;
  setToolTip(need ? layersText(*need) : QString());
  if (!need) return setText(tr("Memory: not known, %1.").arg(QString::fromStdString(need.error().why)));
  const QString reserved =
      memberOr(*need, "reserved_at_once", false) ? tr("taken on the device") : tr("of addresses reserved");
  setText(tr("Memory: weights %1, rows %2 at capacity (%3 rows a layer), %4 for a pass; %5 %6 for rows with history")
              .arg(bytesAt(*need, "weight_bytes"), bytesAt(*need, "kv_bytes"))
              .arg(memberOr(*need, "capacity", qint64{0}))
              .arg(bytesAt(*need, "pass_bytes"), bytesAt(*need, "kv_bytes_reserved"), reserved));
}

}  // namespace kvlab
