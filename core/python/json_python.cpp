// SPDX-License-Identifier: Apache-2.0
#include "core/python/json_python.h"

#include <nanobind/stl/string.h>

#include <cmath>

namespace nb = nanobind;
using nlohmann::json;

namespace kvlab::python {
namespace {

std::string typeName(nb::handle value) { return nb::cast<std::string>(nb::inst_name(value)); }

[[noreturn]] void refuse(PyObject* type, const std::string& place, const std::string& why) {
  PyErr_SetString(type, (place.empty() ? why : place + ": " + why).c_str());
  throw nb::python_error();
}

json read(nb::handle value, const std::string& place);

json readNumber(double number, const std::string& place) {
  if (!std::isfinite(number)) refuse(PyExc_ValueError, place, "the number is not finite");
  return number;
}

json readInteger(nb::handle value, const std::string& place) {
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow) refuse(PyExc_ValueError, place, "the integer has more than 64 bits");
  return static_cast<std::int64_t>(whole);
}

json readMapping(nb::handle value, const std::string& place) {
  json out = json::object();
  for (const auto& [key, item] : nb::cast<nb::dict>(value)) {
    if (!PyUnicode_Check(key.ptr())) refuse(PyExc_TypeError, place, "a key is not a text");
    const auto name = nb::cast<std::string>(key);
    out[name] = read(item, place.empty() ? name : place + "." + name);
  }
  return out;
}

json readSequence(nb::handle value, const std::string& place) {
  json out = json::array();
  for (std::size_t i = 0; const nb::handle item : nb::iter(value))
    out.push_back(read(item, place + "[" + std::to_string(i++) + "]"));
  return out;
}

json read(nb::handle value, const std::string& place) {
  PyObject* const object = value.ptr();
  if (object == Py_None) return nullptr;
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return readInteger(value, place);
  if (PyFloat_Check(object)) return readNumber(PyFloat_AS_DOUBLE(object), place);
  if (PyUnicode_Check(object)) return nb::cast<std::string>(value);
  if (PyDict_Check(object)) return readMapping(value, place);
  if (PyList_Check(object) || PyTuple_Check(object)) return readSequence(value, place);
  if (nb::hasattr(value, "tolist")) return read(value.attr("tolist")(), place);  // NumPy, PyTorch
  if (nb::hasattr(value, "__fspath__")) return read(value.attr("__fspath__")(), place);
  if (PyIndex_Check(object)) return readInteger(nb::steal(PyNumber_Index(object)), place);
  if (PySequence_Check(object) && !PyBytes_Check(object)) return readSequence(value, place);
  refuse(PyExc_TypeError, place, "a value of type " + typeName(value) + " has no meaning here");
}

}  // namespace

nb::object toPython(const json& value) {
  switch (value.type()) {
    case json::value_t::boolean: return nb::bool_(value.get<bool>());
    case json::value_t::number_integer: return nb::steal(PyLong_FromLongLong(value.get<std::int64_t>()));
    case json::value_t::number_unsigned: return nb::steal(PyLong_FromUnsignedLongLong(value.get<std::uint64_t>()));
    case json::value_t::number_float: return nb::float_(value.get<double>());
    case json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    }
    case json::value_t::array: {
      nb::list out;
      for (const json& one : value) out.append(toPython(one));
      return out;
    }
    case json::value_t::object: {
      nb::dict out;
      for (const auto& [key, one] : value.items()) out[key.c_str()] = toPython(one);
      return out;
    }
    default: return nb::none();
  }
}

json toJson(nb::handle value) { return read(value, {}); }

}  // namespace kvlab::python
