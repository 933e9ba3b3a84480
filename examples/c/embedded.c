/* A program that brings its language model inside of itself, and needs no other file:

     cc -std=c89 '-DMODEL="model.gguf"' embedded.c model.S -lloom -o embedded && ./embedded "What is the capital of France?"

   The weights are laid out for this processor while they are loaded; nothing else is copied out of the executable.
*/
#include <loom/loom.h>
#include <stdio.h>
#include <string.h>

/* model.S */
extern const unsigned char embedded_model[], embedded_model_end[];

static int failed(loom_status status) {
  if (status == LOOM_OK) return 0;
  fprintf(stderr, "embedded: %s: %s\n", loom_status_name(status), loom_last_error());
  return 1;
}

static int answer(loom_generator generator) {
  loom_step step = {sizeof step};
  loom_generation whole = {sizeof whole};
  size_t i;
  while (step.stop == LOOM_STOP_NOT_YET) {
    if (failed(loom_generator_next(generator, 0, &step))) return 1;
    fwrite(step.text, 1, step.text_size, stdout);
  }
  if (failed(loom_generator_result(generator, &whole))) return 1;
  printf("\nhash ");
  for (i = 0; i < 8; ++i) printf("%02x", (unsigned)whole.hash[i]);
  printf("\n");
  return 0;
}

int main(int argc, char** argv) {
  loom_model model = 0;
  loom_session session = 0;
  loom_generator generator = 0;
  const char* question = argc == 2 ? argv[1] : "What is the capital of France?";
  int bad = failed(loom_model_from_memory(embedded_model, (size_t)(embedded_model_end - embedded_model), NULL, &model)) ||
            failed(loom_session_create(model, NULL, &session)) ||
            failed(loom_generator_from_text(session, question, strlen(question), LOOM_PROMPT_AUTO, NULL, &generator)) ||
            answer(generator);
  loom_release(generator);
  loom_release(session);
  loom_release(model);
  return bad;
}
