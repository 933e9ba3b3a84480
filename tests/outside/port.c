/* The program that tests/outside/windows.py runs with a library of another system:  port FOLDER [MODEL]
   Prints the digest of the golden set, hashes of a training that is stopped, refused and resumed in FOLDER, and a model's answer. */
#include <loom/loom.h>
#include <stdio.h>
#include <string.h>

static const char* const kConfig =
    "{\"network\": {\"seed\": 3, \"layers\": [{\"type\": \"lstm\", \"input_height\": 5, \"output_height\": 8},"
    " {\"type\": \"dense\", \"input_height\": 8, \"output_height\": 2}]}, \"seed\": 3, \"epochs\": 4, \"batch_size\": 4,"
    " \"loss\": \"mse\", \"optimizer\": {\"name\": \"adam\", \"learning_rate\": 0.01}}";

static int failed(const char* what, loom_status status) {
  if (status == LOOM_OK) return 0;
  printf("%s: %s: %s\n", what, loom_status_name(status), loom_last_error());
  return 1;
}

static void print_blob(const char* what, loom_blob blob) {
  const void* data = NULL;
  size_t size = 0;
  if (!failed(what, loom_blob_view(blob, &data, &size))) printf("%s: %.*s\n", what, (int)size, (const char*)data);
  loom_release(blob);
}

/* The hash in an outcome, which also has times. */
static void print_hash(const char* what, loom_blob outcome) {
  const void* data = NULL;
  size_t size = 0;
  const char* at;
  if (failed(what, loom_blob_view(outcome, &data, &size))) return;
  at = strstr((const char*)data, "\"hash\":");
  printf("%s: %.72s\n", what, at == NULL ? "no hash" : at);
  loom_release(outcome);
}

static int32_t stop_early(void* user, const loom_training_event* event) {
  (void)user;
  return event->epoch < 2;
}

static void train(const char* name, const char* folder, loom_run_start start, loom_on_training progress) {
  float inputs[12 * 3 * 5], targets[12 * 3 * 2];
  uint64_t shape[3] = {12, 3, 5};
  loom_tensor x = {sizeof x}, y = {sizeof y};
  loom_batch batch = {sizeof batch};
  loom_compute_options compute = {sizeof compute};
  loom_training_options options = {sizeof options};
  loom_blob outcome = 0;
  size_t i;
  compute.thread_count = 2;
  for (i = 0; i < sizeof inputs / sizeof *inputs; ++i) inputs[i] = (float)(i * 7 % 11) / 8 - 0.5f;
  for (i = 0; i < sizeof targets / sizeof *targets; ++i) targets[i] = (float)(i * 5 % 13) / 16;
  x.element = y.element = LOOM_ELEMENT_FLOAT32;
  x.data = inputs, x.data_size = sizeof inputs;
  x.shape = shape, x.shape_count = 3;
  y.data = targets, y.data_size = sizeof targets;
  batch.inputs = &x, batch.targets = &y;
  options.out = folder, options.start = start, options.progress = progress, options.compute = &compute;
  if (!failed(name, loom_training_run(kConfig, strlen(kConfig), 0, &batch, NULL, &options, &outcome))) print_hash(name, outcome);
}

static void ask(const char* path) {
  loom_model model = 0;
  loom_session session = 0;
  loom_generator generator = 0;
  loom_step step = {sizeof step};
  loom_generation answer = {sizeof answer};
  const char* question = "What is the capital of France?";
  size_t i;
  if (failed("model", loom_model_open(path, NULL, &model)) ||
      failed("session", loom_session_create(model, NULL, &session)) ||
      failed("generator", loom_generator_from_text(session, question, strlen(question), LOOM_PROMPT_AUTO, NULL, &generator)))
    return;
  while (step.stop == LOOM_STOP_NOT_YET)
    if (failed("next", loom_generator_next(generator, 0, &step))) return;
    else printf("%.*s", (int)step.text_size, step.text);
  if (failed("result", loom_generator_result(generator, &answer))) return;
  printf("\nhash ");
  for (i = 0; i < 8; ++i) printf("%02x", (unsigned)answer.hash[i]);
  printf("\n");
  loom_release(generator), loom_release(session), loom_release(model);
}

int main(int argc, char** argv) {
  loom_blob digest = 0;
  loom_compute_options compute = {sizeof compute};
  char folder[500], path[1000];
  loom_network network = 0;
  if (argc < 2) return 2;
  compute.thread_count = 2;
  snprintf(folder, sizeof folder, "%s/r\xc3\xbcn", argv[1]); /* arguments of Windows are no UTF-8, paths are */
  if (!failed("verify", loom_verify(&compute, &digest))) print_blob("verify", digest);
  train("stopped", folder, LOOM_RUN_FRESH, stop_early);
  train("refused", folder, LOOM_RUN_FRESH, NULL);
  train("resumed", folder, LOOM_RUN_RESUME, NULL);
  train("anew", folder, LOOM_RUN_OVERWRITE, NULL);
  snprintf(path, sizeof path, "%s/model.entity", folder);
  if (!failed("load", loom_network_open(path, NULL, &network))) {
    failed("save over the file", loom_network_save(network, path, 1));
    snprintf(path, sizeof path, "%s/no/such/folder.entity", folder);
    failed("save into no folder", loom_network_save(network, path, 1));
    loom_release(network);
  }
  failed("load a folder", loom_network_open(folder, NULL, &network));
  snprintf(path, sizeof path, "%s/none", folder);
  failed("load nothing", loom_network_open(path, NULL, &network));
  if (argc > 2) ask(argv[2]);
  return 0;
}
