/* A row of tools/digest_matrix through loom.h: row [MODEL] prints one JSON object with the digest of the golden set, the
   hash of 500 training steps (src/verify/golden_training_steps.h), the instruction set that the library chose and, with
   a model, the hash of its answer to the README's question. */
#include <loom/loom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kSpec[] =
    "{\"seed\": 3, \"layers\": [{\"type\": \"dense\", \"input_height\": 8, \"output_height\": 16, \"activation\": "
    "\"tanh\"},"
    " {\"type\": \"dense\", \"input_height\": 16, \"output_height\": 4}]}";
static const char kLearning[] = "{\"loss\": \"mse\", \"learning_rate\": 0.05, \"optimizer\": \"adam\"}";

static void need(const char* what, loom_status status) {
  if (status == LOOM_OK) return;
  fprintf(stderr, "row: %s: %s: %s\n", what, loom_status_name(status), loom_last_error());
  exit(1);
}

static void print_blob(const char* name, loom_blob blob) {
  const void* data = NULL;
  size_t size = 0;
  need(name, loom_blob_view(blob, &data, &size));
  printf("\"%s\": \"%.*s\"", name, (int)size, (const char*)data);
  loom_release(blob);
}

/* The instruction set, out of what a layer kind says about its tiles. */
static void print_isa(void) {
  const void* data = NULL;
  size_t size = 0;
  loom_blob tiles = 0;
  const char *at, *end;
  need("tiles", loom_layer_kind_tiles("dense", "float32", NULL, &tiles));
  need("tiles", loom_blob_view(tiles, &data, &size));
  at = strstr((const char*)data, "\"isa\"");
  at = at == NULL ? NULL : strchr(at + 5, '"');
  end = at == NULL ? NULL : strchr(at + 1, '"');
  if (end == NULL) {
    fprintf(stderr, "row: tiles: no isa\n");
    exit(1);
  }
  printf("\"isa\": %.*s", (int)(end + 1 - at), at);
  loom_release(tiles);
}

static void learn(void) {
  float inputs[4 * 8], targets[4 * 4];
  uint64_t shape[2] = {4, 8};
  loom_compute_options compute = {sizeof compute};
  loom_tensor x = {sizeof x}, y = {sizeof y};
  loom_batch batch = {sizeof batch};
  loom_training_step outcome = {sizeof outcome};
  loom_network network = 0;
  loom_trainer trainer = 0;
  loom_blob hash = 0;
  int step, i, j;
  compute.thread_count = 1;
  need("network", loom_network_from_json(kSpec, strlen(kSpec), NULL, &network));
  need("trainer", loom_trainer_create(network, kLearning, strlen(kLearning), shape, 2, &compute, &trainer));
  x.element = y.element = LOOM_ELEMENT_FLOAT32;
  x.data = inputs, x.data_size = sizeof inputs, x.shape = shape, x.shape_count = 2;
  y.data = targets, y.data_size = sizeof targets;
  batch.inputs = &x, batch.targets = &y;
  for (step = 0; step < 500; ++step) {
    for (i = 0; i < 4; ++i) {
      for (j = 0; j < 8; ++j) inputs[8 * i + j] = (float)((step * 31 + i * 7 + j * 3) % 17) / 16 - 0.5f;
      for (j = 0; j < 4; ++j) targets[4 * i + j] = inputs[8 * i + j] * 0.5f + inputs[8 * i + j + 4] * 0.25f;
    }
    need("step", loom_trainer_step(trainer, &batch, 0, &outcome));
  }
  need("hash", loom_network_hash(network, &hash));
  print_blob("training_steps", hash);
  loom_release(trainer);
  loom_release(network);
}

static void answer(const char* path) {
  static const char* const question = "What is the capital of France?";
  loom_generation result = {sizeof result};
  loom_step step = {sizeof step};
  loom_model model = 0;
  loom_session session = 0;
  loom_generator generator = 0;
  int i;
  need("model", loom_model_open(path, NULL, &model));
  need("session", loom_session_create(model, NULL, &session));
  need("generator", loom_generator_from_text(session, question, strlen(question), LOOM_PROMPT_AUTO, NULL, &generator));
  while (step.stop == LOOM_STOP_NOT_YET) need("answer", loom_generator_next(generator, 0, &step));
  need("answer", loom_generator_result(generator, &result));
  printf(", \"answer\": \"");
  for (i = 0; i < 32; ++i) printf("%02x", (unsigned)result.hash[i]);
  printf("\"");
  loom_release(generator);
  loom_release(session);
  loom_release(model);
}

int main(int count, char** arguments) {
  loom_compute_options compute = {sizeof compute};
  loom_blob digest = 0;
  need("verify", loom_verify(&compute, &digest));
  printf("{");
  print_blob("digest", digest);
  printf(", ");
  learn();
  printf(", ");
  print_isa();
  if (count > 1) answer(arguments[1]);
  printf("}\n");
  return 0;
}
