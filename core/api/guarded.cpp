// SPDX-License-Identifier: Apache-2.0
#include "core/api/guarded.h"

#include <new>

namespace kvlab {
namespace {

Error internalError(std::string_view what, const std::string& why) {
  return {"internal", std::string(what), why,
          "check the invariants, then rebuild; save the session if the report should reach others"};
}

}  // namespace

Error errorCaught(std::string_view what) {
  try {
    throw;
  } catch (const ErrorThrown& thrown) {
    return thrown.error();
  } catch (const std::bad_alloc&) {
    return {"out_of_memory", std::string(what), "memory is exhausted",
            "lower capacity or history_bytes, or close other sessions"};
  } catch (const std::exception& exception) {
    return internalError(what, exception.what());
  } catch (...) {
    return internalError(what, "an exception of unknown type");
  }
}

}  // namespace kvlab
