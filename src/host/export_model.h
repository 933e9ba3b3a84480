#pragma once
// Language models in the files of others (host/export.h).

#include "host/export.h"

namespace loom {

Result<ExportResult> export_gguf(const std::string& model, const std::string& output, const ExportOptions& options);
Result<ExportResult> export_folder(const std::string& model, const std::string& output, const ExportOptions& options);

}  // namespace loom
