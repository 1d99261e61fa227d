// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks mouse, key, wheel, drop and close events of the application's widgets while it exists, except for widgets with
// the property kDuringScript and their children. Gates may nest. GUI thread.
#pragma once
#include <QObject>

namespace kvlab {

class InputGate : public QObject {
 public:
  InputGate();
  ~InputGate() override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace kvlab
