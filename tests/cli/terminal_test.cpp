// The program on a terminal: what is typed, what is shown, what Ctrl-C does.

#include <sys/stat.h>

#include "../support/program.h"
#include "../support/small_model.h"
#include "../support/terminal.h"
#include "core/json.h"

namespace loom::terminal_test {
namespace {

using test::Terminal;

class OnTerminal : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempFolder;
    auto written = test::write_small_model(model());
    ASSERT_TRUE(written) << written.error().text();
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string temp(const std::string& name) { return *folder_ / name; }
  static std::string model() { return temp("small.gguf"); }
  static std::vector<std::pair<std::string, std::string>> environment(const std::string& state,
                                                                      const std::string& term = "xterm") {
    return {{"TERM", term}, {"XDG_STATE_HOME", temp(state)}, {"HOME", temp("home")}, {"NO_COLOR", "1"}};
  }
  static std::vector<std::string> chat(const std::string& model_path = model()) {
    return {test::loom_binary(), "chat", model_path, "-n", "4", "--ignore-eos", "-q"};
  }
  // Saves the conversation and returns the messages in the file.
  static Json messages_after(Terminal& t, const std::string& file) {
    t.type("/save " + temp(file) + "\r");
    EXPECT_TRUE(t.wait_for("Saved.")) << t.output();
    return test::read_json(temp(file))["messages"];
  }

 private:
  static inline test::TempFolder* folder_ = nullptr;
};

TEST_F(OnTerminal, lines_are_edited_as_characters_and_remembered) {
  Terminal t(chat(), environment("edit"));
  ASSERT_TRUE(t.wait_for("> "));
  // A wide character is erased whole; the left arrow goes back over one; nothing of an arrow reaches the model.
  t.type(
      "a\u4f60\u597d\x7f"
      "c\033[Db\r");
  ASSERT_TRUE(t.wait_for("cut after 4 tokens")) << t.output();
  ASSERT_TRUE(t.wait_for("> "));
  t.type("\033[A!\r");  // the line before, and an exclamation mark after it
  ASSERT_TRUE(t.wait_for("cut after 4 tokens")) << t.output();
  const Json messages = messages_after(t, "edit.json");
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0]["content"],
            "a\u4f60"
            "bc");
  EXPECT_EQ(messages[2]["content"],
            "a\u4f60"
            "bc!");
  ASSERT_TRUE(t.wait_for("> "));  // before, the terminal would take the key for itself
  t.type("\x04");
  EXPECT_EQ(t.finish(), 0);

  const std::string history = temp("edit/loom/chat_history");
  struct stat status{};
  ASSERT_EQ(stat(history.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(test::read_all(history).rfind("\"a\u4f60"
                                          "bc\"\n\"a\u4f60"
                                          "bc!\"\n",
                                          0),
            0u)
      << test::read_all(history);
  // The next conversation has it.
  Terminal next(chat(), environment("edit"));
  ASSERT_TRUE(next.wait_for("> "));
  next.type("\033[A\033[A\r");  // the line before /save
  ASSERT_TRUE(next.wait_for("cut after 4 tokens")) << next.output();
  EXPECT_EQ(messages_after(next, "next.json")[0]["content"],
            "a\u4f60"
            "bc!");
}

TEST_F(OnTerminal, several_lines_are_one_message) {
  const std::pair<const char*, const char*> typed[] = {
      {"\033[200~one\rtwo\rthree\r\033[201~\r", "one\ntwo\nthree"},  // pasted
      {"\"\"\"one\rtwo\rthree\"\"\"\r", "one\ntwo\nthree"},
      {"\"\"\"\rone\r\rtwo\r\"\"\"\r", "one\n\ntwo"},
      {"\"\"\"one\"\"\"\r", "one"},
      {"one\\\rtwo\\\rthree\r", "one\ntwo\nthree"},
      {"one\033\rtwo\r", "one\ntwo"},  // Alt-Enter
  };
  Terminal t(chat(), environment("lines"));
  std::size_t at = 0;
  for (const auto& [keys, text] : typed) {
    SCOPED_TRACE(text);
    ASSERT_TRUE(t.wait_for("> ")) << t.output();
    t.type(keys);
    ASSERT_TRUE(t.wait_for("cut after 4 tokens")) << t.output();
    ASSERT_TRUE(t.wait_for("> "));
    const Json messages = messages_after(t, "lines.json");
    ASSERT_EQ(messages.size(), at + 2);
    EXPECT_EQ(messages[at]["content"], text);
    at += 2;
  }
}

TEST_F(OnTerminal, one_interrupt_drops_the_line_and_the_second_leaves) {
  Terminal t(chat(), environment("interrupt"));
  ASSERT_TRUE(t.wait_for("> "));
  t.type("half a li\x03");
  ASSERT_TRUE(t.wait_for("Ctrl-C again")) << t.output();
  ASSERT_TRUE(t.wait_for("> "));
  t.type("Hello\r");
  ASSERT_TRUE(t.wait_for("cut after 4 tokens")) << t.output();
  EXPECT_EQ(messages_after(t, "interrupt.json")[0]["content"], "Hello");
  ASSERT_TRUE(t.wait_for("> "));
  t.type("\"\"\"a block\rof lines\x03");  // a block goes as a whole
  ASSERT_TRUE(t.wait_for("Ctrl-C again")) << t.output();
  t.type("\x03");
  EXPECT_EQ(t.finish(), 130);
}

TEST_F(OnTerminal, interrupt_stops_an_answer_and_the_conversation_goes_on) {
  Terminal t({test::loom_binary(), "chat", test::smollm2(), "-n", "100000", "--ignore-eos", "-q"},
             environment("answer"));
  ASSERT_TRUE(t.wait_for("> "));
  t.type("Tell a story\r");
  ASSERT_TRUE(t.wait_for("story\r\n"));
  ASSERT_TRUE(t.wait_for(" "));
  t.type("\x03");
  ASSERT_TRUE(t.wait_for("(stopped)")) << t.output();
  ASSERT_TRUE(t.wait_for("> "));
  t.type("/stats\r");
  ASSERT_TRUE(t.wait_for("last answer:")) << t.output();
  t.type("/quit\r");
  EXPECT_EQ(t.finish(), 0);
}

// The longest line that was drawn over and over, in columns.
int widest_bar(const std::string& output) {
  int widest = 0;
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = std::min(output.find_first_of("\r\n", begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    if (line.find("% ") != line.npos && line.find('[') != line.npos) {
      int columns = 0;
      for (const char c : line.substr(0, line.find('\033')))
        if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) columns += static_cast<unsigned char>(c) >= 0xe4 ? 2 : 1;
      widest = std::max(widest, columns);
    }
    begin = end + 1;
  }
  return widest;
}

TEST_F(OnTerminal, the_loading_bar_fits) {
  const std::string folder = temp("\u4f60\u597d a folder with a rather long name so that the line would be too long");
  std::filesystem::create_directory(folder);
  const std::string file = folder + "/model.gguf";
  std::filesystem::create_hard_link(model(), file);
  for (const unsigned short columns : {20, 40, 80, 200}) {
    SCOPED_TRACE(columns);
    Terminal t({test::loom_binary(), "generate", file, "-p", "a", "-n", "1", "--dtype", "q8_0"}, environment("bar"),
               columns);
    EXPECT_EQ(t.finish(), 0);
    const int widest = widest_bar(t.output());
    EXPECT_GT(widest, 10) << t.output();
    EXPECT_LT(widest, columns) << t.output();
    if (columns >= 40) {
      EXPECT_NE(t.output().find("gguf ["), std::string::npos) << t.output();
    }
  }
  // COLUMNS wins over what the terminal says.
  auto narrow = environment("bar");
  narrow.emplace_back("COLUMNS", "30");
  Terminal t({test::loom_binary(), "generate", file, "-p", "a", "-n", "1", "--dtype", "q8_0"}, narrow, 200);
  EXPECT_EQ(t.finish(), 0);
  EXPECT_LT(widest_bar(t.output()), 30);
}

TEST_F(OnTerminal, a_dumb_terminal_gets_no_escapes) {
  Terminal t({test::loom_binary(), "chat", model(), "-n", "4", "--ignore-eos"},
             {{"TERM", "dumb"}, {"XDG_STATE_HOME", temp("dumb")}});
  ASSERT_TRUE(t.wait_for("> "));
  t.type("Hello\r");
  ASSERT_TRUE(t.wait_for("cut after 4 tokens"));
  t.type("/quit\r");
  EXPECT_EQ(t.finish(), 0);
  EXPECT_EQ(t.output().find('\033'), std::string::npos) << t.output();
}

TEST_F(OnTerminal, a_long_prompt_shows_how_far_it_is) {
  std::string words;
  for (int i = 0; i < 3500; ++i) words += "word ";
  test::write_all(temp("long.txt"), words);
  Terminal t({test::loom_binary(), "generate", test::smollm2(), "-f", temp("long.txt"), "-n", "1", "-t", "1"},
             environment("long"), 60);
  EXPECT_TRUE(t.wait_for("reading [")) << t.output();
  t.type("\x03");
  EXPECT_EQ(t.finish(), 130);
  EXPECT_LT(widest_bar(t.output()), 60);
}

}  // namespace
}  // namespace loom::terminal_test
