// SPDX-License-Identifier: Apache-2.0
#include "core/api/guarded.h"

#include <new>
#include <stdexcept>
#include <system_error>

namespace kvlab {
namespace {

Error exhausted(std::string_view what, const std::string& why) {
  return {"out_of_memory", std::string(what), why,
          "close other sessions, or open them with less capacity, history_bytes or threads"};
}

Error internal(std::string_view what, const std::string& why) {
  return {"internal", std::string(what), why,
          "check the invariants, then rebuild; save the session if the report should reach others"};
}

}  // namespace

Error caught(std::string_view what) {
  try {
    throw;
  } catch (const ErrorThrown& thrown) {
    return thrown.error();
  } catch (const std::bad_alloc&) {
    return exhausted(what, "memory is exhausted");
  } catch (const std::length_error& error) {
    return exhausted(what, std::string("a list would be too long: ") + error.what());
  } catch (const std::system_error& error) {
    const bool thread = error.code() == std::errc::resource_unavailable_try_again;
    return thread ? exhausted(what, "the system refuses another thread") : internal(what, error.what());
  } catch (const std::exception& error) {
    return internal(what, error.what());
  } catch (...) {
    return internal(what, "an exception of unknown type");
  }
}

}  // namespace kvlab
