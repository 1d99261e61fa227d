// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/logging.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace kvlab {

namespace {

class RelaySink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit RelaySink(LogRelay& relay) : m_relay(relay) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto text = QString::fromUtf8(message.payload.data(), static_cast<qsizetype>(message.payload.size()));
    emit m_relay.line(static_cast<int>(message.level), text);  // queued between threads
  }
  void flush_() override {}

 private:
  LogRelay& m_relay;
};

/// Messages of the offscreen platform that do not matter.
bool isNoise(const QString& text) { return text.contains("propagateSizeHints") || text.contains("XDG_RUNTIME_DIR"); }

void takeQtMessage(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (isNoise(text)) return;
  const auto level = type == QtDebugMsg ? spdlog::level::debug
      : type == QtInfoMsg               ? spdlog::level::info
      : type == QtWarningMsg            ? spdlog::level::warn
                                        : spdlog::level::err;
  spdlog::log(level, "qt: {}", text.toStdString());
}

}  // namespace

void installLogging(const std::string& level, LogRelay& relay) {
  auto console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  console->set_level(spdlog::level::from_str(level));
  console->set_pattern("kvlab: %l: %v");
  auto listener = std::make_shared<RelaySink>(relay);
  listener->set_level(spdlog::level::info);
  auto logger = std::make_shared<spdlog::logger>("kvlab", spdlog::sinks_init_list{console, listener});
  logger->set_level(std::min(console->level(), spdlog::level::info));
  spdlog::set_default_logger(logger);
  qInstallMessageHandler(takeQtMessage);
}

void removeLogging() {
  qInstallMessageHandler(nullptr);
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("kvlab", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
}

}  // namespace kvlab
