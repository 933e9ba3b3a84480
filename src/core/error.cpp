#include "core/error.h"

#include <cstdio>
#include <cstdlib>

#include "core/hooks.h"
#include "core/shortened.h"

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
    case Code::Busy: return "Busy";
    case Code::BadHandle: return "BadHandle";
    case Code::DeviceLost: return "DeviceLost";
  }
  return "Unknown";
}

std::string pointer_text(const Steps& steps) {
  std::string text;
  for (const std::string& step : steps) {
    text += '/';
    for (const char c : step)
      if (c == '~')
        text += "~0";
      else if (c == '/')
        text += "~1";
      else
        text += c;
  }
  return text;
}

Steps path_steps(std::string_view path) {
  Steps steps;
  for (std::size_t begin = 0, end = 0; end != path.npos && !path.empty(); begin = end + 1) {
    end = path.find('.', begin);
    steps.emplace_back(path.substr(begin, end - begin));
  }
  return steps;
}

std::string shortened_place(std::string_view place) {
  if (place.size() <= kMostPlace) return std::string(place);
  constexpr std::string_view kDots = "...";
  constexpr std::size_t kEach = (kMostPlace - kDots.size()) / 2;
  // Whole steps stay where there is one near the cut; else whole characters.
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; };
  std::size_t head = place.find_last_of("/. ", kEach - 1);
  head = head == place.npos || head < kEach / 2 ? kEach : head + 1;
  while (head > 0 && is_inside(place[head])) --head;
  std::size_t tail = place.find_first_of("/. ", place.size() - kEach);
  if (tail == place.npos || tail > place.size() - kEach / 2) tail = place.size() - kEach;
  while (tail < place.size() && is_inside(place[tail])) ++tail;
  return std::string(place.substr(0, head)) + std::string(kDots) + std::string(place.substr(tail));
}

namespace {

// The file that a source begins with stays as it is: somebody may look for it.
std::string shortened_source(const std::string& source) {
  if (source.size() <= kMostPlace) return source;
  const std::size_t end = source.find(": ");
  const bool begins_with_file = source.front() == '/' || source.front() == '.' || source.find('/') < end;
  if (end == source.npos) return begins_with_file ? source : shortened_place(source);
  return begins_with_file ? source.substr(0, end + 2) + shortened_place(std::string_view(source).substr(end + 2))
                          : shortened_place(source);
}

}  // namespace

Place::Place(Steps steps, std::string source)
    : parts_(steps.empty() && source.empty() ? nullptr
                                             : std::make_unique<Parts>(Parts{std::move(steps), std::move(source)})) {}

Error& Error::in_source(std::string_view outer) {
  if (outer.empty()) return *this;
  const std::string inner = place.source();
  place = Place(place.steps(), inner.empty() ? std::string(outer) : fmt::format("{}: {}", outer, inner));
  return *this;
}

namespace {

// A reader joins several complaints: the message of the first goes on with "; /layers/3: ..." of the others
// (core/config_reader.h), whose pointers begin at the same document.
void put_under(std::string& message, const std::string& outer) {
  constexpr std::string_view kJoint = "; /";
  for (std::size_t at = message.find(kJoint); at != message.npos; at = message.find(kJoint, at + outer.size() + 3))
    message.insert(at + 2, outer);
}

}  // namespace

Error& Error::under(Steps outer) {
  if (outer.empty()) return *this;
  if (place.source().empty()) put_under(message, pointer_text(outer));
  // a document that this place of the outer one names
  if (!place.source().empty()) return in_source(shortened_place(pointer_text(outer)));
  for (const std::string& step : place.steps()) outer.push_back(step);
  place = std::move(outer);
  return *this;
}

std::string Error::text() const {
  std::string out = shortened_source(place.source());
  for (const std::string& part : {shortened_place(pointer_text(place.steps())), message}) {
    if (part.empty()) continue;
    if (!out.empty()) out += ": ";
    out += part;
  }
  return out;
}

void assertion_failed(const char* text, const char* file, int line) {
  char words[512];
  std::snprintf(words, sizeof words, "broken invariant: %s (%s:%d)", text, file, line);
  if (const FatalHook* const host = fatal_hook()) host->fatal(host->user, words);
  std::fprintf(stderr, "loom: %s\n", words);
  std::abort();
}

}  // namespace loom
