// SPDX-License-Identifier: Apache-2.0
#include "core/session/parts_before.h"

namespace kvlab {

PartsBefore::PartsBefore(Session& session)
    : m_session(session),
      m_outer(session.parts().replaced),
      m_manifest(session.manifest()),
      m_capacity(session.parts().capacity),
      m_maxPhases(session.parts().maxPhases),
      m_stand(session.history().stand()) {
  session.parts().replaced = &m_replaced;
}

PartsBefore::~PartsBefore() {
  m_session.parts().replaced = m_outer;
  if (!m_kept) putBack();
  else if (m_outer) handOut();
}

/// To the change around it, which may still fail.
void PartsBefore::handOut() {
  const auto handOn = [](auto& to, auto& from) {
    if (!to && from) to = std::move(from);
  };
  if (!m_outer->store) handOn(m_outer->layouts, m_replaced.layouts);
  handOn(m_outer->store, m_replaced.store);
  handOn(m_outer->transformer, m_replaced.transformer);
  handOn(m_outer->sampler, m_replaced.sampler);
}

/// Takes no memory.
void PartsBefore::putBack() {
  SessionParts& parts = m_session.parts();
  if (m_replaced.store) {
    parts.store = std::move(*m_replaced.store);
    parts.layouts = std::move(*m_replaced.layouts);
    m_session.history().standAgain(std::move(m_stand));
  }
  if (m_replaced.transformer) parts.transformer = std::move(m_replaced.transformer);
  if (m_replaced.sampler) parts.sampler = std::move(m_replaced.sampler);
  parts.manifest = std::move(m_manifest);
  parts.capacity = m_capacity;
  parts.maxPhases = m_maxPhases;
}

}  // namespace kvlab
