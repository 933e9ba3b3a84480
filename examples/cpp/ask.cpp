// Asks a language model a question and prints its answer as it comes; C++17 and the C ABI alone:
//
//   c++ -std=c++17 ask.cpp -lloom -o ask && ./ask MODEL "What is the capital of France?"
#include <cstdio>
#include <loom/loom.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ask MODEL QUESTION\n");
    return 2;
  }
  const auto session = loom::Session::create(loom::Model::open(argv[1]));
  const auto generator = loom::Generator::from_text(session, argv[2], LOOM_PROMPT_AUTO);
  for (auto step = loom::sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;) {
    step = generator.next();
    std::fwrite(step.text, 1, step.text_size, stdout);
    std::fflush(stdout);
  }
  const loom_generation answer = generator.result();
  std::printf("\nhash ");
  for (int i = 0; i < 8; ++i) std::printf("%02x", answer.hash[i]);
  std::printf("\n");
} catch (const loom::Error& error) {
  std::fprintf(stderr, "ask: %s: %s\n", loom::status_name(error.code()), error.what());
  return 1;
}
