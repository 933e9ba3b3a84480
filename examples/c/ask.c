/* Asks a language model a question and prints its answer as it comes:

     cc -std=c89 ask.c -lloom -o ask && ./ask MODEL "What is the capital of France?"
*/
#include <loom/loom.h>
#include <stdio.h>
#include <string.h>

static int failed(loom_status status) {
  if (status == LOOM_OK) return 0;
  fprintf(stderr, "ask: %s: %s\n", loom_status_name(status), loom_last_error());
  return 1;
}

static int ask(loom_model model, const char* question) {
  loom_session session = 0;
  loom_generator generator = 0;
  loom_step step = {sizeof step};
  loom_generation answer = {sizeof answer};
  size_t i;
  int bad = failed(loom_session_create(model, NULL, &session)) ||
            failed(loom_generator_from_text(session, question, strlen(question), LOOM_PROMPT_AUTO, NULL, &generator));
  while (!bad && step.stop == LOOM_STOP_NOT_YET) {
    bad = failed(loom_generator_next(generator, 0, &step));
    if (!bad) fwrite(step.text, 1, step.text_size, stdout);
    fflush(stdout);
  }
  bad = bad || failed(loom_generator_result(generator, &answer));
  if (!bad) {
    printf("\nhash ");
    for (i = 0; i < 8; ++i) printf("%02x", (unsigned)answer.hash[i]);
    printf("\n");
  }
  loom_release(generator);
  loom_release(session);
  return bad;
}

int main(int argc, char** argv) {
  loom_model model = 0;
  int bad;
  if (argc != 3) {
    fprintf(stderr, "usage: ask MODEL QUESTION\n");
    return 2;
  }
  if (failed(loom_model_open(argv[1], NULL, &model))) return 1;
  bad = ask(model, argv[2]);
  loom_release(model);
  return bad;
}
