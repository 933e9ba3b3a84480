#include "core/error.h"

#include <cstdio>
#include <cstdlib>

namespace loom {

const char* code_name(Code code) {
  switch (code) {
    case Code::InvalidArgument: return "InvalidArgument";
    case Code::InvalidConfig: return "InvalidConfig";
    case Code::ShapeMismatch: return "ShapeMismatch";
    case Code::SizeOverflow: return "SizeOverflow";
    case Code::OutOfRange: return "OutOfRange";
    case Code::IndexOutOfRange: return "IndexOutOfRange";
    case Code::NonFinite: return "NonFinite";
    case Code::UnknownName: return "UnknownName";
    case Code::UnknownKey: return "UnknownKey";
    case Code::NotFound: return "NotFound";
    case Code::IoError: return "IoError";
    case Code::DiskFull: return "DiskFull";
    case Code::CorruptData: return "CorruptData";
    case Code::Unsupported: return "Unsupported";
    case Code::OutOfMemory: return "OutOfMemory";
    case Code::ContextFull: return "ContextFull";
    case Code::NoTemplate: return "NoTemplate";
    case Code::TemplateError: return "TemplateError";
    case Code::LimitExceeded: return "LimitExceeded";
    case Code::LinkCycle: return "LinkCycle";
    case Code::Cancelled: return "Cancelled";
    case Code::EmptyTensor: return "EmptyTensor";
    case Code::FeedbackLink: return "FeedbackLink";
    case Code::LinkToEmpty: return "LinkToEmpty";
    case Code::NestingTooDeep: return "NestingTooDeep";
    case Code::InvalidState: return "InvalidState";
    case Code::NoValue: return "NoValue";
    case Code::NoHistory: return "NoHistory";
    case Code::LossySave: return "LossySave";
  }
  return "Unknown";
}

void assertion_failed(const char* text, const char* file, int line) {
  std::fprintf(stderr, "loom: broken invariant: %s (%s:%d)\n", text, file, line);
  std::abort();
}

}  // namespace loom
