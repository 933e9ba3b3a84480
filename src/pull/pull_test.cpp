// Reading of answers from a hub: lists, heads, addresses; and the choice of files.

#include <gtest/gtest.h>

#include "pull/choice.h"
#include "pull/fit.h"
#include "pull/git_hash.h"
#include "pull/hub_cache.h"
#include "pull/repository.h"
#include "pull/web.h"
#include "support/files.h"

namespace loom::pull_test {
namespace {

using namespace pull;

const std::string kCommit(40, 'a');

Repository repository_of(std::initializer_list<const char*> paths) {
  Repository out;
  out.commit = kCommit;
  std::uint64_t bytes = 1000;
  for (const char* path : paths) out.files.push_back({path, bytes += 1000, ""});
  std::ranges::sort(out.files, {}, &RemoteFile::path);
  return out;
}

std::vector<std::string> paths_of(const Choice& choice) {
  std::vector<std::string> out;
  for (const RemoteFile& file : choice.files) out.push_back(file.path);
  return out;
}

TEST(Repository, ReadsTheListOfFiles) {
  const std::string sha(64, 'b'), blob(40, 'c');
  const auto read = read_repository(fmt::format(
      R"({{"sha":"{}","siblings":[{{"rfilename":"b/m.gguf","size":5,"blobId":"{}","lfs":{{"sha256":"{}","size":7}}}},)"
      R"({{"rfilename":"a.json","size":3,"blobId":"{}"}},{{"rfilename":"z","size":-1,"blobId":"x"}}]}})",
      kCommit, blob, sha, blob));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->commit, kCommit);
  ASSERT_EQ(read->files.size(), 3u);
  EXPECT_EQ(read->files[0].path, "a.json");
  EXPECT_EQ(read->files[0].hash, blob);
  EXPECT_EQ(read->files[1].hash, sha);
  EXPECT_EQ(read->files[1].bytes, 7u);
  EXPECT_FALSE(read->files[2].bytes);
  EXPECT_EQ(read->files[2].hash, "");
}

TEST(Repository, PathsStayInsideTheirFolder) {
  for (const char* path : {"a", "a/b.json", "a b", "1_Pooling/config.json", "..a", "a..", ".gitattributes"})
    EXPECT_TRUE(is_safe_path(path)) << path;
  for (const std::string path :
       {"", "/", "/a", "a/", "a//b", "..", "../a", "a/..", "a/../b", ".", "a/./b", "a\\b", "a\nb"})
    EXPECT_FALSE(is_safe_path(path)) << path;
  EXPECT_FALSE(is_safe_path(std::string("a\0b", 3)));
  EXPECT_FALSE(is_safe_path(std::string(2000, 'a')));
  for (const char* text : {"main", "v1.0", "refs/pr/1", "0123abc"}) EXPECT_TRUE(is_revision(text)) << text;
  for (const char* text : {"", "-x", "a b", "../main", "a//b", "x?y", ".x"}) EXPECT_FALSE(is_revision(text)) << text;
}

TEST(Repository, TheHeadOfALinkCounts) {
  WebAnswer answer;
  answer.status = 302;
  answer.headers = {
      {"etag", "\"store\""}, {"x-linked-etag", "\"abc\""}, {"content-length", "9"}, {"x-linked-size", "70"}};
  EXPECT_EQ(read_file_head(answer)->etag, "abc");
  EXPECT_EQ(read_file_head(answer)->bytes, 70u);
  answer.headers = {{"etag", "W/\"abc-1\""}, {"content-length", "9"}};
  EXPECT_EQ(read_file_head(answer)->etag, "abc-1");
  EXPECT_FALSE(read_file_head(answer)->bytes);  // the length of the redirect
  answer.status = 200;
  EXPECT_EQ(read_file_head(answer)->bytes, 9u);
  for (const char* bad : {"", "\"\"", "\"../a\"", "\"a/b\"", "\".a\"", "a b", "\"", "W/"}) {
    answer.headers = {{"etag", bad}};
    EXPECT_FALSE(read_file_head(answer)) << bad;
  }
  answer.headers = {{"etag", "a"}, {"content-length", "-1"}};
  EXPECT_FALSE(read_file_head(answer));
}

TEST(Repository, RangesAreWhole) {
  const auto range = read_content_range("bytes 100-199/200");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 100u);
  EXPECT_EQ(range->last, 199u);
  EXPECT_EQ(range->all, 200u);
  for (const char* bad : {"", "bytes", "bytes */200", "bytes 1-2/*", "bytes 2-1/9", "bytes 1-9/9", "bits 1-2/9",
                          "bytes -1-2/9", "bytes 1/9-2", "bytes 1-99999999999999999999/9", "bytes 1-2/9 "})
    EXPECT_FALSE(read_content_range(bad)) << bad;
}

TEST(Repository, TokensGoOverHttpsOrToThisComputer) {
  EXPECT_EQ(origin_of("HTTPS://Hub.co:443/a?b"), "https://hub.co");
  EXPECT_EQ(origin_of("http://localhost:8080"), "http://localhost:8080");
  for (const char* bad :
       {"", "hub.co", "ftp://hub.co", "https://", "https:///a", "https://user@hub.co", "file:///etc", "https://a\\@b"})
    EXPECT_EQ(origin_of(bad), "") << bad;
  for (const char* own : {"https://hub.co", "http://localhost", "http://127.0.0.1:80", "http://[::1]:5"})
    EXPECT_TRUE(is_private_origin(own)) << own;
  for (const char* other : {"http://hub.co", "http://localhost.evil.co", "http://127.0.0.1.evil.co", ""})
    EXPECT_FALSE(is_private_origin(other)) << other;
  EXPECT_EQ(url_encoded("a b/ü#?", true), "a%20b/%C3%BC%23%3F");
  EXPECT_EQ(url_encoded("refs/pr/1", false), "refs%2Fpr%2F1");
}

TEST(Web, TheLastHeadCounts) {
  WebAnswer answer;
  for (const char* line : {"HTTP/1.1 200 Connection established\r\n", "X-Proxy: 1\r\n", "\r\n", "HTTP/2 302 \r\n",
                           "Location:  /a \r\n", "ETag: \"x:y\"\r\n", ": odd\r\n", "odd\r\n"})
    read_header_line(line, answer);
  EXPECT_EQ(answer.status, 302);
  EXPECT_EQ(answer.header("location"), "/a");
  EXPECT_EQ(answer.header("etag"), "\"x:y\"");
  EXPECT_EQ(answer.header("x-proxy"), "");
  EXPECT_EQ(answer.headers.size(), 2u);
  read_header_line("HTTP/1.1", answer);
  EXPECT_EQ(answer.status, 0);
}

TEST(Choice, AFolderIsItsReadableFiles) {
  const auto choice =
      choose_files(repository_of({"config.json", "model.safetensors", "tokenizer.json", "README.md", "vocab.json",
                                  "pytorch_model.bin", "model-Q4_0.gguf", "onnx/model.onnx", "generation_config.json"}),
                   "o/n", "");
  ASSERT_TRUE(choice) << choice.error().text();
  EXPECT_TRUE(choice->is_folder);
  EXPECT_EQ(paths_of(*choice),
            (std::vector<std::string>{"model.safetensors", "generation_config.json", "tokenizer.json", "config.json"}));
  const auto parts = choose_files(repository_of({"config.json", "model.safetensors.index.json", "model-1.safetensors",
                                                 "model-2.safetensors", "other.safetensors", "2_Dense/config.json"}),
                                  "o/n", "");
  EXPECT_EQ(paths_of(*parts),
            (std::vector<std::string>{"model-1.safetensors", "model-2.safetensors", "model.safetensors.index.json",
                                      "2_Dense/config.json", "config.json"}));
  const auto adapter = choose_files(repository_of({"adapter_config.json", "adapter_model.safetensors"}), "o/n", "");
  EXPECT_EQ(paths_of(*adapter), (std::vector<std::string>{"adapter_model.safetensors", "adapter_config.json"}));
}

TEST(Choice, OneOfSeveralGgufFiles) {
  const Repository many =
      repository_of({"m-Q2_K.gguf", "m-Q4_0.gguf", "m-Q4_K_M.gguf", "f16/m-F16.gguf", "mmproj-F16.gguf", "m-IQ3_M.gguf",
                     "m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"});
  EXPECT_EQ(paths_of(*choose_files(many, "o/n", "")), std::vector<std::string>{"m-Q4_K_M.gguf"});
  EXPECT_EQ(paths_of(*choose_files(many, "o/n", "f16")), std::vector<std::string>{"f16/m-F16.gguf"});
  EXPECT_EQ(paths_of(*choose_files(many, "o/n", "m-IQ3_M.gguf")), std::vector<std::string>{"m-IQ3_M.gguf"});
  EXPECT_EQ(choose_files(many, "o/n", "IQ3_M").error().code, Code::Unsupported);
  EXPECT_EQ(choose_files(many, "o/n", "Q8_0").error().code, Code::NotFound);
  EXPECT_NE(choose_files(many, "o/n", "Q8_0").error().text().find("does not join"), std::string::npos);
  EXPECT_EQ(choose_files(repository_of({"a-Q8_0.gguf", "b-Q8_0.gguf"}), "o/n", "Q8_0").error().code,
            Code::InvalidArgument);
  EXPECT_EQ(choose_files(repository_of({"a.gguf", "b.gguf"}), "o/n", "").error().code, Code::InvalidArgument);
  EXPECT_EQ(paths_of(*choose_files(repository_of({"a.gguf", "README.md"}), "o/n", "")),
            std::vector<std::string>{"a.gguf"});
  EXPECT_EQ(choose_files(repository_of({"pytorch_model.bin", "config.json"}), "o/n", "").error().code,
            Code::Unsupported);
  EXPECT_EQ(choose_files(repository_of({}), "o/n", "").error().code, Code::Unsupported);
  EXPECT_EQ(paths_of(*choose_files(repository_of({"m.onnx", "m.onnx_data", "n.onnx"}), "o/n", "m.onnx")),
            (std::vector<std::string>{"m.onnx", "m.onnx_data"}));
}

TEST(Choice, TheLargestThatFits) {
  const auto models = models_by_size(repository_of({"a-Q2_K.gguf", "b-IQ4_XS.gguf", "c-Q4_0.gguf", "d-Q8_0.gguf"}));
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0].path, "d-Q8_0.gguf");
  EXPECT_EQ(largest_that_fits(models, 100, 5100), &models[0]);
  EXPECT_EQ(largest_that_fits(models, 100, 5099), &models[1]);
  EXPECT_EQ(largest_that_fits(models, 100, 2100), &models[2]);
  EXPECT_EQ(largest_that_fits(models, 100, 2099), nullptr);
  EXPECT_EQ(largest_that_fits(models, 6000, 5000), nullptr);
}

std::string text_bytes(std::string_view text) {
  std::string out(8, '\0');
  out[0] = static_cast<char>(text.size());
  return out.append(text);
}
std::string u32(std::uint32_t value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

TEST(Fit, ReadsTheCacheFromTheFrontOfAFile) {
  std::string front = "GGUF" + u32(3) + u32(9) + u32(0) + u32(7) + u32(0);
  front += text_bytes("general.architecture") + u32(8) + text_bytes("llama");
  front += text_bytes("llama.list") + u32(9) + u32(4) + u32(2) + u32(0) + u32(1) + u32(2);
  for (const auto& [key, value] : {std::pair("block_count", 30u),
                                   {"attention.head_count", 9u},
                                   {"embedding_length", 576u},
                                   {"attention.head_count_kv", 3u},
                                   {"context_length", 8192u}})
    front += text_bytes(std::string("llama.") + key) + u32(4) + u32(value);
  const auto bytes = std::as_bytes(std::span(front));
  const auto shape = read_cache_shape(bytes, 98'000'000);
  ASSERT_TRUE(shape) << shape.error().text();
  EXPECT_EQ(shape->bytes_per_position(), 30u * 3 * (64 + 64) * 4);
  EXPECT_EQ(shape->context, 8192u);
  for (std::size_t size = 0; size < bytes.size(); ++size)  // a key after the cut might count
    EXPECT_FALSE(read_cache_shape(bytes.first(size), 98'000'000)) << size;
}

TEST(Fit, ReadsFreeMemory) {
  EXPECT_EQ(read_available("MemTotal: 9 kB\nMemAvailable:    123456 kB\nX: 1\n"), 123456u * 1024);
  EXPECT_FALSE(read_available("MemTotal: 9 kB\n"));
  EXPECT_FALSE(read_available("MemAvailable:"));
  EXPECT_FALSE(read_available("MemAvailable: x kB"));
}

TEST(Fit, ReadsTheLimitOfAContainer) {
  EXPECT_EQ(read_group("1000\n", "700\n", "active_file 9\ninactive_file 200\nx 1\n"), 500u);
  EXPECT_EQ(read_group("1000\n", "700\n", ""), 300u);
  EXPECT_EQ(read_group("1000\n", "100\n", "inactive_file 200\n"), 1000u);
  EXPECT_EQ(read_group("1000\n", "2000\n", ""), 0u);
  EXPECT_FALSE(read_group("max\n", "700\n", ""));
  EXPECT_FALSE(read_group("", "", ""));
}

TEST(GitHash, IsThatOfGit) {  // git hash-object
  const auto hash = [](std::string_view text) {
    GitHash git(text.size());
    git.update(std::as_bytes(std::span(text)));
    return git.finish();
  };
  EXPECT_EQ(hash(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(hash("hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(hash(std::string(1000, 'a')), "a50be72b20f0e3f078d252e8e56b11b4bec67509");
}

TEST(HubCache, ALinkLeadsIntoTheBlobs) {
  const test::TempFolder folder;
  const HubCache cache(folder.path(), "org", "name");
  ASSERT_TRUE(cache.create(kCommit));
  test::write_all(cache.blob("abc"), "bytes");
  test::write_all(cache.blob("def"), "other");
  ASSERT_TRUE(cache.link(kCommit, "sub/file.json", "abc"));
  EXPECT_EQ(test::read_all(cache.snapshot(kCommit) + "/sub/file.json"), "bytes");
  ASSERT_TRUE(cache.link(kCommit, "sub/file.json", "abc"));
  ASSERT_TRUE(cache.link(kCommit, "sub/file.json", "def"));  // replaced
  EXPECT_EQ(test::read_all(cache.snapshot(kCommit) + "/sub/file.json"), "other");
  ASSERT_TRUE(cache.set_revision("refs/pr/1", kCommit));
  ASSERT_TRUE(cache.set_revision("main", kCommit));
  ASSERT_TRUE(cache.set_revision(kCommit, kCommit));
  const auto all = snapshots_in(folder.path());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().model, "org/name");
  EXPECT_EQ(all->front().revision, "main, refs/pr/1");
  EXPECT_EQ(all->front().bytes, 5u);
  EXPECT_EQ(all->front().kind, "other");
  {
    const auto lock = FileLock::take_now(cache.lock_file("abc"));
    ASSERT_TRUE(lock);
    EXPECT_EQ(FileLock::take_now(cache.lock_file("abc")).error().code, Code::InvalidState);
    EXPECT_EQ(remove_model(folder.path(), "org", "name").error().code, Code::InvalidState);
  }
  ASSERT_TRUE(remove_model(folder.path(), "org", "name"));
  EXPECT_EQ(model_in(folder.path(), "org", "name").error().code, Code::NotFound);
  EXPECT_TRUE(snapshots_in(folder.path() + "/none")->empty());
}

}  // namespace
}  // namespace loom::pull_test
