/* Times calls in C:  calls MODEL
   Prints "forward LEAST MEDIAN" and "token LEAST MEDIAN" in nanoseconds, and the hash of the answer. The programs beside
   it do the same in other languages; bench/calls.py runs them in turns. */

#include <loom/loom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kGroups = 300, kCalls = 200, kAnswers = 120, kTokens = 16 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int in_order(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print_times(const char* what, double* times, size_t count) {
  qsort(times, count, sizeof *times, in_order);
  printf("%s %.0f %.0f\n", what, times[0], times[count / 2]);
}

static void need(loom_status status) {
  if (status == LOOM_OK) return;
  fprintf(stderr, "calls: %s\n", loom_last_error());
  exit(1);
}

static loom_compute_options one_thread(void) {
  loom_compute_options compute = {sizeof compute};
  compute.thread_count = 1;
  return compute;
}

static void time_forward(void) {
  static const char kSpec[] =
      "{\"seed\": 1, \"layers\": [{\"type\": \"dense\", \"input_height\": 8, \"output_height\": 8, \"activation\": "
      "\"tanh\"}, {\"type\": \"dense\", \"input_height\": 8, \"output_height\": 4}]}";
  static uint64_t shape[2] = {1, 8};
  static double times[kGroups];
  const loom_compute_options compute = one_thread();
  loom_network_session_options options = {sizeof options};
  loom_network network;
  loom_network_session session;
  float x[8] = {0}, y[4];
  int group, i;
  options.compute = &compute;
  need(loom_network_from_json(kSpec, strlen(kSpec), NULL, &network));
  need(loom_network_session_create(network, &options, &session));
  for (group = 0; group < kGroups; ++group) {
    const double start = now();
    for (i = 0; i < kCalls; ++i) {
      loom_tensor input = {sizeof input}, output = {sizeof output};
      input.element = LOOM_ELEMENT_FLOAT32;
      input.data = x, input.data_size = sizeof x;
      input.shape = shape, input.shape_count = 2;
      need(loom_network_session_forward(session, &input, NULL, &output));
      memcpy(y, output.data, output.data_size);
    }
    times[group] = (now() - start) / kCalls;
  }
  print_times("forward", times, kGroups);
}

static void time_tokens(const char* path) {
  static const char kPrompt[] = "Once upon a time";
  static double times[kAnswers];
  const loom_compute_options compute = one_thread();
  loom_model_options loading = {sizeof loading};
  loom_session_options running = {sizeof running};
  loom_generation_options options = {sizeof options};
  loom_model model;
  unsigned char hash[32];
  int answer, i;
  loading.compute = running.compute = &compute;
  options.max_tokens = kTokens;
  need(loom_model_open(path, &loading, &model));
  for (answer = 0; answer < kAnswers; ++answer) {
    loom_session session;
    loom_generator generator;
    loom_step step = {sizeof step};
    loom_generation generation = {sizeof generation};
    char text[4096];
    size_t length = 0;
    const double start = now();
    need(loom_session_create(model, &running, &session));
    need(loom_generator_from_text(session, kPrompt, strlen(kPrompt), LOOM_PROMPT_RAW, &options, &generator));
    while (step.stop == LOOM_STOP_NOT_YET) {
      need(loom_generator_next(generator, 0, &step));
      if (length + step.text_size <= sizeof text) memcpy(text + length, step.text, step.text_size), length += step.text_size;
    }
    need(loom_generator_result(generator, &generation));
    memcpy(hash, generation.hash, sizeof hash);
    loom_release(generator), loom_release(session);
    times[answer] = (now() - start) / kTokens;
  }
  print_times("token", times, kAnswers);
  for (i = 0; i < 8; ++i) printf(i == 0 ? "hash %02x" : "%02x", (unsigned)hash[i]);
  printf("\n");
}

int main(int count, char** words) {
  if (count != 2) return 2;
  time_forward();
  time_tokens(words[1]);
  return 0;
}
