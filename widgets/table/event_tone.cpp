// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/event_tone.h"

#include <QHash>

namespace kvlab {

Tone toneOfEvent(const QString& event) {
  static const QHash<QString, Tone> kTones = {{"born", Tone::Ok},
                                              {"restored", Tone::Ok},
                                              {"expanded", Tone::Ok},
                                              {"lit", Tone::Ok},
                                              {"verified", Tone::Ok},
                                              {"loaded", Tone::Ok},
                                              {"computed", Tone::Ok},
                                              {"rebuilt", Tone::Ok},
                                              {"became exact", Tone::Ok},
                                              {"evicted", Tone::Accent},
                                              {"left layer", Tone::Accent},
                                              {"collapsed", Tone::Accent},
                                              {"moved", Tone::Accent},
                                              {"turned", Tone::Accent},
                                              {"copied", Tone::Accent},
                                              {"converted", Tone::Accent},
                                              {"left", Tone::Accent},
                                              {"replaced", Tone::Warning},
                                              {"deleted", Tone::Warning},
                                              {"parent", Tone::Warning},
                                              {"edited", Tone::Warning},
                                              {"became stale", Tone::Warning},
                                              {"aborted", Tone::Error},
                                              {"fault", Tone::Error},
                                              {"damage found", Tone::Error},
                                              {"damaged", Tone::Error}};
  return kTones.value(event, Tone::Muted);
}

}  // namespace kvlab
