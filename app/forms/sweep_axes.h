// SPDX-License-Identifier: GPL-3.0-or-later
// The axes of a sweep in a form: a key of the manifest, or the budget of policies, and its values; one line each. Axes
// whose values are lists of changes are shown, and edited as JSON. GUI thread; valuesOf() and valuesText(): any thread.
#pragma once
#include <QString>
#include <QWidget>
#include <nlohmann/json.hpp>
#include <vector>

class QComboBox;
class QLineEdit;
class QVBoxLayout;

namespace kvlab {

class SweepAxes : public QWidget {
  Q_OBJECT
 public:
  explicit SweepAxes(QWidget* parent);
  void show(const nlohmann::json& axes);
  nlohmann::json axes() const { return m_axes; }

 signals:
  void edited();

 private:
  struct Line {
    QWidget* box;
    QComboBox* key;
    QLineEdit* values;
  };
  void addLine();
  void fill(const Line& line, const nlohmann::json& axis);
  void take(std::size_t place);
  void add();
  void remove(std::size_t place);

  nlohmann::json m_axes = nlohmann::json::array();
  std::vector<Line> m_lines;
  QVBoxLayout* m_column;
  bool m_showing = false;
};

/// The values of an axis from a line of text: "64, 128", "h2o, snapkv", {"k":"f16"}. Commas part values, but not within
/// quotes and brackets; a value that is no JSON is a text.
nlohmann::json valuesOf(const QString& text);
QString valuesText(const nlohmann::json& values);

}  // namespace kvlab
