/* A layer kind of one's own: a highway layer (Srivastava et al. 2015),

     y = t * h + (1 - t) * x,  h = act(Wh x + bh),  t = sigmoid(Wt x + bt)

   in a network that learns whether the number of ones among four bits is odd. Its callbacks name operations on tensors
   and never see a number: so the layer computes the same bits on every machine, in every type of weights.

     cc -std=c89 own_kind.c -lloom -o own_kind && ./own_kind FILE.entity [TYPE [THREADS [ISA]]]

   trains, saves, loads again, and prints the first and last loss and the digest of the weights.
*/
#include <loom/loom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const kHighway =
    "{\"name\": \"highway\", \"help\": \"y = t * h + (1 - t) * x, h = act(Wh x + bh), t = sigmoid(Wt x + bt)\","
    " \"shapes\": \"[..., width] -> the same shape\", \"width_key\": \"width\", \"settings\": ["
    "{\"key\": \"width\", \"type\": \"integer\", \"min\": 1, \"help\": \"Required. Features of a row\"},"
    "{\"key\": \"activation\", \"type\": \"activation\", \"default\": \"tanh\", \"help\": \"Of h\"}]}";

/* The first error of a call is that of all calls after it and of the layer, so that one look at the end is enough. */
static loom_status highway_declare(void* user, loom_layer layer) {
  double width = 0;
  uint64_t square[2];
  (void)user;
  loom_layer_setting(layer, "width", &width);
  square[0] = square[1] = (uint64_t)width;
  loom_layer_declare_weight(layer, "h.weight", square, 2, NULL, 0);
  loom_layer_declare_weight(layer, "h.bias", square, 1, NULL, 0);
  loom_layer_declare_weight(layer, "t.weight", square, 2, NULL, 0);
  return loom_layer_declare_weight(layer, "t.bias", square, 1, NULL, 0);
}

static loom_status highway_forward(void* user, loom_layer layer) {
  uint64_t x, before_h, before_t, h, t, minus_x, rest, part, y;
  (void)user;
  x = before_h = before_t = h = t = minus_x = rest = part = y = 0;
  loom_layer_input(layer, &x);
  loom_layer_matmul(layer, x, "h.weight", "h.bias", &before_h);
  loom_layer_matmul(layer, x, "t.weight", "t.bias", &before_t);
  loom_layer_activate(layer, before_h, "activation", &h);
  loom_layer_activate(layer, before_t, "sigmoid", &t);
  loom_layer_scale(layer, x, -1, &minus_x); /* y = x + t * (h - x) */
  loom_layer_add(layer, h, minus_x, &rest);
  loom_layer_multiply(layer, t, rest, &part);
  loom_layer_add(layer, x, part, &y);
  loom_layer_keep(layer, x);
  loom_layer_keep(layer, before_h);
  loom_layer_keep(layer, before_t);
  loom_layer_keep(layer, t);
  loom_layer_keep(layer, rest);
  return loom_layer_result(layer, y);
}

static loom_status highway_backward(void* user, loom_layer layer) {
  uint64_t x, before_h, before_t, t, rest, dy, dh, dt, through_h, through_t, dx_h, dx_t, minus_dh, dx_x, sum, dx;
  (void)user;
  x = before_h = before_t = t = rest = dy = dh = dt = through_h = through_t = dx_h = dx_t = 0;
  minus_dh = dx_x = sum = dx = 0;
  loom_layer_kept(layer, &rest);
  loom_layer_kept(layer, &t);
  loom_layer_kept(layer, &before_t);
  loom_layer_kept(layer, &before_h);
  loom_layer_kept(layer, &x);
  loom_layer_input(layer, &dy);
  loom_layer_multiply(layer, dy, t, &dh);
  loom_layer_multiply(layer, dy, rest, &dt);
  loom_layer_activate_gradient(layer, before_h, dh, "activation", &through_h);
  loom_layer_activate_gradient(layer, before_t, dt, "sigmoid", &through_t);
  loom_layer_matmul_gradient(layer, x, through_h, "h.weight", "h.bias", &dx_h);
  loom_layer_matmul_gradient(layer, x, through_t, "t.weight", "t.bias", &dx_t);
  loom_layer_scale(layer, dh, -1, &minus_dh); /* by x itself: dy - dy * t */
  loom_layer_add(layer, dy, minus_dh, &dx_x);
  loom_layer_add(layer, dx_h, dx_t, &sum);
  loom_layer_add(layer, sum, dx_x, &dx);
  return loom_layer_result(layer, dx);
}

static int failed(loom_status status) {
  if (status == LOOM_OK) return 0;
  fprintf(stderr, "own_kind: %s: %s\n", loom_status_name(status), loom_last_error());
  return 1;
}

static loom_status register_highway(void) {
  loom_kind_callbacks callbacks = {sizeof callbacks};
  callbacks.declare = highway_declare;
  callbacks.forward = highway_forward;
  callbacks.backward = highway_backward;
  return loom_layer_kind_register(kHighway, strlen(kHighway), &callbacks);
}

/* Learns the parity of all numbers of four bits. */
static int train(loom_network network, const char* threads, const char* isa, double* first, double* last) {
  static const char config[] = "{\"loss\": \"softmax_crossentropy\", \"optimizer\": \"adam\", \"learning_rate\": 0.01}";
  const uint64_t shape[2] = {16, 4};
  float bits[64];
  int32_t odd[16];
  loom_compute_options options = {sizeof options};
  loom_tensor x = {sizeof x}, y = {sizeof y};
  loom_batch batch = {sizeof batch};
  loom_training_step step = {sizeof step};
  loom_trainer trainer = 0;
  int i, bad;
  for (i = 0; i < 64; ++i) bits[i] = (float)(i / 4 >> i % 4 & 1);
  for (i = 0; i < 16; ++i) odd[i] = (i ^ i >> 1 ^ i >> 2 ^ i >> 3) & 1;
  x.element = LOOM_ELEMENT_FLOAT32, x.data = bits, x.data_size = sizeof bits;
  x.shape = shape, x.shape_count = 2;
  y.element = LOOM_ELEMENT_INT32, y.data = odd, y.data_size = sizeof odd;
  batch.inputs = &x, batch.targets = &y;
  options.thread_count = threads == NULL ? 1 : atoi(threads);
  options.isa = isa;
  bad = failed(loom_trainer_create(network, config, strlen(config), shape, 2, &options, &trainer));
  for (i = 0; i < 300 && !bad; ++i) {
    bad = failed(loom_trainer_step(trainer, &batch, 0, &step));
    if (i == 0) *first = step.loss;
  }
  *last = step.loss;
  loom_release(trainer);
  return bad;
}

static int print_digest(const char* what, loom_network network) {
  loom_blob hash = 0;
  const void* text = NULL;
  size_t size = 0;
  const int bad = failed(loom_network_hash(network, &hash)) || failed(loom_blob_view(hash, &text, &size));
  if (!bad) printf("%s %.*s\n", what, (int)size, (const char*)text);
  loom_release(hash);
  return bad;
}

static int learn_and_save(const char* file, const char* type, const char* threads, const char* isa) {
  loom_network network = 0, loaded = 0;
  double first = 0, last = 0;
  char spec[1024];
  int bad;
  sprintf(spec,
          "{\"seed\": 7, \"default_dtype\": \"%.20s\", \"input_shape\": [4], \"layers\": ["
          "{\"type\": \"dense\", \"input_height\": 4, \"output_height\": 16, \"bias\": true, \"activation\": \"tanh\"},"
          "{\"type\": \"highway\", \"width\": 16}, {\"type\": \"highway\", \"width\": 16, \"activation\": \"relu\"},"
          "{\"type\": \"dense\", \"input_height\": 16, \"output_height\": 2, \"bias\": true}]}",
          type);
  bad = failed(loom_network_from_json(spec, strlen(spec), NULL, &network)) ||
        failed(loom_network_save(network, file, 1)) || print_digest("before", network) ||
        train(network, threads, isa, &first, &last) || failed(loom_network_save(network, file, 1)) ||
        failed(loom_network_open(file, NULL, &loaded));
  if (!bad) printf("loss %.4f -> %.4f\n", first, last);
  bad = bad || print_digest("trained", network) || print_digest("loaded", loaded);
  loom_release(loaded);
  loom_release(network);
  return bad;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 5) {
    fprintf(stderr, "usage: own_kind FILE.entity [TYPE [THREADS [ISA]]]\n");
    return 2;
  }
  if (failed(register_highway())) return 1;
  if (learn_and_save(argv[1], argc > 2 ? argv[2] : "float32", argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL))
    return 1;
  return failed(loom_layer_kind_unregister("highway"));
}
