// loom.hpp without exceptions: errors come as values, handles are shared and given back.
#include <loom/loom.hpp>
#include <string>

static int failures = 0;
#define EXPECT(...) ((__VA_ARGS__) ? void(0) : void(++failures))

static bool stands(loom_handle handle) {
  loom_kind kind = LOOM_KIND_NONE;
  return loom_kind_of(handle, &kind) == LOOM_OK;
}

int main() {
  const auto missing = loom::Model::open("nowhere.gguf");
  EXPECT(!missing && missing.error().code() == LOOM_NOT_FOUND && std::string(missing.error().what()) != "");

  auto made = loom::Cancel::create();
  EXPECT(bool(made));
  loom::Cancel cancel = std::move(*made);
  const loom_handle handle = cancel.get();
  EXPECT(!*made && stands(handle));
  {
    const loom::Cancel shared = cancel;  // NOLINT: one more owner
    EXPECT(shared.get() == handle && bool(shared.set(true)));
    cancel = loom::Cancel();
    EXPECT(stands(handle));
  }
  EXPECT(!stands(handle));
  const auto gone = cancel.set(false);
  EXPECT(!gone && gone.error().code() == LOOM_BAD_HANDLE);

  auto info = loom::system_info();
  EXPECT(info && info->text().find("\"cpu\"") != std::string::npos);
  const loom_handle taken = info->take();
  EXPECT(!*info && stands(taken) && loom_release(taken) == LOOM_OK);
  // One function by two names. The free memory that it reports may change from call to call.
  const auto processor = [](const std::string& text) { return text.substr(0, text.find("memory")); };
  EXPECT(processor(loom::SystemAudit()->text()) == processor(loom::GetHardwareInfo()->text()));

  auto broken = loom::Tokenizer::from_json("{");
  EXPECT(!broken && broken.error().code() == LOOM_CORRUPT_DATA);
  return failures;
}
