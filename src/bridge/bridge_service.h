#pragma once
// The routes of `loom bridge serve`: streams, reports, comparisons.

#include <memory>

#include "bridge/report_store.h"
#include "http/http_message.h"

namespace loom {

struct BridgeServiceOptions {
  std::string models = "models", fixtures{}, reports = "reports";
  int threads = 0;
  std::optional<Isa> isa{};
  std::size_t max_bytes = std::size_t{4} << 30;
  const std::atomic<bool>* cancel = nullptr;
};

class BridgeService {
 public:
  // Reads the existing reports. IoError.
  static Result<BridgeService> create(const BridgeServiceOptions& options);

  // Any thread.
  HttpResponse handle(const HttpRequest& request) const;

 private:
  BridgeService(const BridgeServiceOptions& options, std::unique_ptr<ReportStore> store)
      : options_(options), store_(std::move(store)) {}
  HttpResponse get(const HttpRequest& request) const;
  HttpResponse post(const HttpRequest& request) const;
  HttpResponse stream(const HttpRequest& request, std::string_view kind) const;
  HttpResponse report(const HttpRequest& request) const;
  HttpResponse all_reports() const;
  HttpResponse certificate(const HttpRequest& request, bool as_page) const;
  HttpResponse catalog() const;
  void keep(const StreamResult& result, const Json& payload) const;

  BridgeServiceOptions options_;
  std::unique_ptr<ReportStore> store_;
};

}  // namespace loom
