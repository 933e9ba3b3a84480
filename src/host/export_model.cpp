#include "host/export_model.h"

namespace loom {

Result<ExportResult> export_gguf(const std::string& model, const std::string&, const ExportOptions&) {
  return fail(Code::Unsupported, "{}: language models as GGUF", model);
}

Result<ExportResult> export_folder(const std::string& model, const std::string&, const ExportOptions&) {
  return fail(Code::Unsupported, "{}: language models as a folder", model);
}

}  // namespace loom
