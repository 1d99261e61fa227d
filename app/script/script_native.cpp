// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/script_native.h"

#include <vector>

namespace kvlab {
namespace {

using Json = nlohmann::json;

/// Builds script values from the events of a parser, so that no second copy of a large value stands beside them.
class Builder : public Json::json_sax_t {
 public:
  explicit Builder(QJSEngine& engine) : m_engine(engine) {}
  const QJSValue& value() const { return m_value; }

  bool null() override { return add(QJSValue(QJSValue::NullValue)); }
  bool boolean(bool value) override { return add(QJSValue(value)); }
  bool number_integer(std::int64_t value) override { return add(QJSValue(static_cast<double>(value))); }
  bool number_unsigned(std::uint64_t value) override { return add(QJSValue(static_cast<double>(value))); }
  bool number_float(double value, const std::string&) override { return add(QJSValue(value)); }
  bool string(std::string& value) override { return add(QJSValue(QString::fromStdString(value))); }
  bool binary(Json::binary_t&) override { return false; }
  bool key(std::string& value) override {
    m_open.back().key = QString::fromStdString(value);
    return true;
  }
  bool start_object(std::size_t) override { return open(m_engine.newObject(), false); }
  bool start_array(std::size_t) override { return open(m_engine.newArray(), true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  struct Open {
    QJSValue value;
    bool array = false;
    quint32 size = 0;
    QString key = {};
  };

  bool open(QJSValue value, bool array) {
    constexpr std::size_t kDeepest = 1024;
    m_open.push_back({std::move(value), array});
    return m_open.size() <= kDeepest;
  }
  bool close() {
    const QJSValue done = m_open.back().value;
    m_open.pop_back();
    return add(done);
  }
  bool add(const QJSValue& value) {
    if (m_open.empty()) return m_value = value, true;
    Open& to = m_open.back();
    if (to.array) to.value.setProperty(to.size++, value);
    else to.value.setProperty(to.key, value);
    return true;
  }

  QJSEngine& m_engine;
  std::vector<Open> m_open;
  QJSValue m_value;
};

}  // namespace

QJSValue ScriptNative::parse(const QString& text) const {
  Builder builder(m_engine);
  return Json::sax_parse(text.toStdString(), &builder) ? builder.value() : QJSValue();
}

}  // namespace kvlab
