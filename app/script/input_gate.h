// SPDX-License-Identifier: GPL-3.0-or-later
// While it lives, the application's widgets get no mouse, key, wheel, drop or close events, except
// widgets marked with the property kDuringScript and their children. Gates may nest. GUI thread.
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
