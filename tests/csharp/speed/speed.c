/* Prints the least time of groups of calls, in nanoseconds a call: loom_network_session_forward() with a copy of the
   output, loom_network_session_run(). */

#include <loom/loom.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { kGroups = 1000, kCalls = 200 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static loom_tensor tensor(float* values, size_t size, const uint64_t* shape, size_t rank) {
  loom_tensor out = {sizeof out};
  out.element = LOOM_ELEMENT_FLOAT32;
  out.data = values;
  out.data_size = size;
  out.shape = (uint64_t*)shape;
  out.shape_count = rank;
  return out;
}

int main(int count, char** words) {
  static const uint64_t shape[2] = {1, 8};
  float x[8] = {0}, y[4];
  loom_compute_options compute = {sizeof compute};
  loom_network_session_options options = {sizeof options};
  loom_network network;
  loom_network_session session;
  loom_tensor input = tensor(x, sizeof x, shape, 2), output = tensor(y, sizeof y, NULL, 0);
  double forward = 1e12, run = 1e12, start, each;
  int group, i;
  compute.thread_count = 1;
  options.compute = &compute;
  if (count != 2 || loom_network_from_json(words[1], strlen(words[1]), NULL, &network) != LOOM_OK ||
      loom_network_session_create(network, &options, &session) != LOOM_OK ||
      loom_network_session_bind(session, &input, &output) != LOOM_OK)
    return 1;
  for (group = 0; group < kGroups; ++group) {
    for (start = now(), i = 0; i < kCalls; ++i) {
      loom_tensor result = {sizeof result};
      loom_tensor given = tensor(x, sizeof x, shape, 2);
      if (loom_network_session_forward(session, &given, NULL, &result) != LOOM_OK) return 1;
      memcpy(y, result.data, result.data_size);
    }
    each = (now() - start) / kCalls;
    if (each < forward) forward = each;
    for (start = now(), i = 0; i < kCalls; ++i)
      if (loom_network_session_run(session) != LOOM_OK) return 1;
    each = (now() - start) / kCalls;
    if (each < run) run = each;
  }
  printf("%d %d\n", (int)forward, (int)run);
  return 0;
}
