// loom stream and loom bridge serve as clients meet them: JSON on pipes, a name of their own, a port and signals.

#include "../support/program.h"
#include "core/json.h"

namespace loom::bridge_cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::Program;

constexpr const char* kRequest =
    R"({"inputs":[[1,2],[3,4]],"native_outputs":[[5],[11]],"payload":{"planet":"here","model_id":"m",)"
    R"("layers":[{"input_dim":2,"output_dim":1,"weights":[1,2]}]}})";

TEST(BridgeCli, a_request_on_standard_input_is_answered_on_standard_output) {  // F-70
  const test::TempFolder folder;
  const Outcome run = loom({"stream", "--models", folder / "models", "--page", folder / "page.html"}, kRequest);
  EXPECT_EQ(run.status, 0) << run.err;
  const auto json = parse_json(run.out);
  ASSERT_TRUE(json) << run.out;
  EXPECT_EQ((*json)["status"], "ok");
  EXPECT_EQ((*json)["outputs"], Json::parse("[[5.0],[11.0]]"));
  EXPECT_EQ((*json)["exact_match"], true);
  EXPECT_EQ((*json)["entity_path"], folder / "models" + "/here/m/m.stream.entity");
  EXPECT_NE(test::read_all(folder / "page.html").find("EXACT"), std::string::npos);
  // The hash of the outputs is the one that the file gives by itself.
  test::write_all(folder / "x.json", "[[1,2],[3,4]]");
  const auto again = parse_json(
      loom({"run", folder / "models" + "/here/m/m.stream.entity", "--input", folder / "x.json", "--json"}).out);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)["hash"], (*json)["certificate"]["loom_sha256"]);
}

TEST(BridgeCli, clients_of_planetbridging_find_a_name_of_their_own) {  // F-70
  const test::TempFolder folder;
  const std::string request = fmt::format(R"({{"output_path":"{}",)", folder / "m.entity") + (kRequest + 1);
  Program program({test::binary_path("bin/loom-stream")});
  program.start();
  program.send(request);
  const Outcome run = program.finish();
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ((*parse_json(run.out))["entity_path"], folder / "m.entity");
  EXPECT_TRUE(is_file(folder / "m.entity"));
}

TEST(BridgeCli, an_error_is_one_line_and_one_object) {  // F-70
  for (const char* bad :
       {"", "{", "[]", "{\"payload\":3}", R"({"layers":[{"input_dim":2,"output_dim":1,"weights":[1]}]})",
        R"({"planet":"../x","layers":[{"input_dim":1,"output_dim":1,"weights":[1]}]})"}) {
    const Outcome run = loom({"stream"}, bad);
    EXPECT_TRUE(run.status == 2 || run.status == 3) << bad;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    const auto json = parse_json(run.out);
    ASSERT_TRUE(json) << bad << "\n" << run.out;
    EXPECT_EQ((*json)["status"], "error");
  }
}

TEST(BridgeCli, a_server_says_where_it_is_and_ends_on_a_signal) {  // F-71
  const test::TempFolder folder;
  for (const auto& [signal, name] : {std::pair{SIGINT, "Ctrl-C"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}}) {
    Program program({test::loom_binary(), "bridge", "serve", "--port", "0", "--models", folder / "models", "--reports",
                     folder / "reports"});
    program.start();
    ASSERT_TRUE(program.wait_for_text("/\n"));
    EXPECT_TRUE(program.output().starts_with("http://127.0.0.1:")) << program.output();
    program.interrupt(signal);
    const Outcome run = program.finish();
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_TRUE(run.err.ends_with(fmt::format("loom: ended by {}\n", name))) << run.err;
  }
}

TEST(BridgeCli, an_address_that_others_reach_needs_a_token) {  // F-71
  const Outcome run = loom({"bridge", "serve", "--bind", "0.0.0.0", "--port", "0"});
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.err.find("token"), std::string::npos) << run.err;
  EXPECT_EQ(loom({"bridge", "serve", "--token", "short"}).status, 2);
  EXPECT_EQ(loom({"bridge"}).status, 2);
}

}  // namespace
}  // namespace loom::bridge_cli_test
