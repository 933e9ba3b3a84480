// Run by tests/outside/windows_files.py under Wine:  windows_files FOLDER
// Files of core/ on Windows: deep folders, files that others hold, and saves onto a file that is mapped. Prints a line
// for each check; exits with 1 if one fails.

#include <windows.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "core/file.h"
#include "core/folder.h"
#include "core/system.h"

namespace {

using namespace loom;
using Clock = std::chrono::steady_clock;

int failures = 0;

void expect(bool holds, const std::string& what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what.c_str());
  failures += !holds;
}

std::string text_of(const Result<void>& done) { return done ? "" : std::string(done.error().text()); }
Result<void> put(const std::string& path, std::string_view text) {
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}
std::string get(const std::string& path) { return read_text_file(path).value_or("(missing)"); }

std::wstring wide(const std::string& path) {
  std::wstring out(path.size() + 1, L'\0');
  out.resize(static_cast<std::size_t>(
      MultiByteToWideChar(CP_UTF8, 0, path.c_str(), -1, out.data(), static_cast<int>(out.size())) - 1));
  return out;
}

// Another program's handle of a file, which shares as little as `share` says.
class Holder {
 public:
  Holder(const std::string& path, DWORD share)
      : handle_(CreateFileW(wide(path).c_str(), GENERIC_READ, share, nullptr, OPEN_EXISTING, 0, nullptr)) {
    expect(handle_ != INVALID_HANDLE_VALUE, "the file is held");
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { release(); }
  void release() {
    if (handle_ != INVALID_HANDLE_VALUE) CloseHandle(std::exchange(handle_, INVALID_HANDLE_VALUE));
  }

 private:
  HANDLE handle_;
};

// Holds a file for a part of a second, as a virus scanner does, while `call` runs.
bool while_held_briefly(const std::string& path, DWORD share, const std::function<bool()>& call) {
  Holder holder(path, share);
  std::thread release([&] {
    Sleep(200);
    holder.release();
  });
  const auto begin = Clock::now();
  const bool done = call();
  const bool waited = Clock::now() - begin > std::chrono::milliseconds(100);
  release.join();
  return done && waited;
}

void deep_folders(const std::string& root) {
  std::string folder = root;
  while (folder.size() < 700) folder += "/a folder with a long name, rün";
  expect(create_folders(folder).has_value(), "folders of more than 260 characters are made");
  const std::string path = folder + "/model.entity";
  expect(text_of(put(path, "one")).empty(), "a file is saved in them");
  expect(text_of(put(path, "two")).empty() && get(path) == "two", "and replaced");
  expect(is_file(path) && is_directory(folder), "and found");
  const auto names = visible_names_in(folder);
  expect(names && *names == std::vector<std::string>{"model.entity"}, "its folder is listed");
  expect(os::is_same_file(path, folder + "/./model.entity"), "two spellings are one file");
  expect(!os::is_same_file(path, path + "x"), "a missing file equals none");
  const auto map = MappedFile::open(path);
  expect(map && (*map)->bytes().size() == 3, "it is mapped");
  expect(path_inside(folder, "model.entity").has_value(), "it is inside of its folder");
  expect(!path_inside(folder, "../model.entity").has_value(), "a name that leads out is refused");
  expect(get(std::string(5000, 'x')) == "(missing)", "a path that is too long is no file");
}

void files_in_use(const std::string& root) {
  const std::string path = root + "/held.entity";
  expect(text_of(put(path, "old")).empty(), "a file is saved");
  expect(while_held_briefly(path, 0, [&] { return get(path) == "old"; }), "a read waits for a scanner");
  expect(while_held_briefly(path, 0, [&] { return put(path, "new").has_value(); }) && get(path) == "new",
         "a save waits for a scanner");
  expect(
      while_held_briefly(path, FILE_SHARE_READ, [&] { return put(path, "newer").has_value(); }) && get(path) == "newer",
      "a save waits for a reader that does not share removal");
  expect(while_held_briefly(path, FILE_SHARE_READ, [&] { return os::remove(path.c_str()); }) && !is_file(path),
         "a removal waits, too");
  expect(text_of(put(path, "old")).empty(), "the file is saved again");
  {
    const Holder holder(path, FILE_SHARE_READ);
    const auto begin = Clock::now();
    const std::string why = text_of(put(path, "never"));
    const auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf("  %s (after %.1f s)\n", why.c_str(), seconds);
    expect(!why.empty() && seconds > 0.9 && seconds < 5,
           "a save onto a file that stays in use is refused after a second");
    expect(get(path) == "old", "and the old file stays");
  }
  {
    const Holder holder(path, 0);
    const auto read = read_text_file(path);
    expect(!read && read.error().text().find("in use by another program") != std::string::npos,
           "an error says that a file is in use");
  }
  const auto names = visible_names_in(root);
  expect(names && std::ranges::none_of(*names, [](const std::string& name) { return name.ends_with(".part"); }),
         "no temporary file is left");
}

void mapped_files(const std::string& root) {
  const std::string folder = root + "/mapped", path = folder + "/model.entity";
  expect(create_folders(folder).has_value() && put(path, "first").has_value(), "a file is saved");
  {
    const auto first = MappedFile::open(path);
    const std::string why = text_of(put(path, "second"));
    expect(why.empty(), "a save onto a mapped file " + why);
    const auto second = MappedFile::open(path);
    expect(put(path, "third").has_value(), "and once more");
    expect(get(path) == "third", "the newest is read");
    const auto bytes = [](const auto& map) {
      return std::string(reinterpret_cast<const char*>((*map)->bytes().data()), (*map)->bytes().size());
    };
    expect(bytes(first) == "first" && bytes(second) == "second", "maps keep the bytes that they had");
  }
  expect(put(path, "fourth").has_value() && visible_names_in(folder)->size() == 1,
         "a later save removes the old files");
}

void read_only_files(const std::string& root) {
  const std::string path = root + "/kept.entity";
  expect(put(path, "kept").has_value() && SetFileAttributesW(wide(path).c_str(), FILE_ATTRIBUTE_READONLY) != 0,
         "a file is made read-only");
  const auto begin = Clock::now();
  const std::string why = text_of(put(path, "never"));
  std::printf("  %s\n", why.c_str());
  // Wine replaces such a file for a user who may write into its folder.
  expect(why.empty() || (get(path) == "kept" && Clock::now() - begin < std::chrono::milliseconds(500)),
         "it is refused at once");
  SetFileAttributesW(wide(path).c_str(), FILE_ATTRIBUTE_NORMAL);
}

// The links are Python's: Wine has none of its own.
void links(const std::string& root) {
  expect(is_directory(root + "/link") && is_file(root + "/link/secret"), "a link is followed");
  expect(path_inside(root, "inside/file").has_value(), "a link inside of the folder may be used");
  const auto out = path_inside(root, "link/secret");
  std::printf("  %s\n", out ? out->c_str() : std::string(out.error().text()).c_str());
  expect(!out, "a link out of the folder is refused");
}

void cores() {
  std::printf("cores %d, fast %d\n", os::physical_cores(), os::performance_cores());
  expect(os::performance_cores() >= 1 && os::performance_cores() <= os::physical_cores(), "cores are counted");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string root = arguments[1];
  deep_folders(root + "/deep");
  files_in_use(root);
  mapped_files(root);
  read_only_files(root);
  links(root);
  cores();
  return failures == 0 ? 0 : 1;
}
