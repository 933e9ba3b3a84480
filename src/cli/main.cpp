#include <chrono>
#include <cstdio>
#include <cstdlib>
#include "lm/session.h"
using namespace loom;
int main(int argc, char** argv) {
  auto f = GgufFile::open(argv[1]); if (!f) { std::puts(f.error().message.c_str()); return 3; }
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  DecoderSource src; auto c = config_from_gguf(*f); if (!c) { std::puts(c.error().message.c_str()); return 3; }
  src.config = *c; src.interleaved_qk = src.config.architecture == "llama";
  for (auto& t : f->tensors()) { auto place = place_from_gguf(t.name); if (!place) { std::printf("unmapped %s\n", std::string(t.name).c_str()); return 3; }
    src.tensors.push_back({std::string(t.name), *place, t.dtype, {t.shape().begin(), t.shape().end()}, t.bytes, f->file()}); }
  auto t0 = std::chrono::steady_clock::now();
  auto sec = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count(); };
  auto pool = ThreadPool::create(threads); DecoderOptions o; 
  auto m = build_decoder(src, **pool, o); if (!m) { std::puts(m.error().message.c_str()); return 3; }
  std::printf("load %.1f ms\n", sec() * 1e3);
  SessionOptions so; so.threads = threads; if (argc > 3) so.isa = *isa_from_name(argv[3]);
  auto s = Session::create(std::make_shared<DecoderModel>(std::move(*m)), so); if (!s) { std::puts(s.error().message.c_str()); return 3; }
  pool->reset();
  std::vector<int> ids; for (int i = 0; i < 113; ++i) ids.push_back(100 + i * 37 % 5000);
  for (int rep = 0; rep < 5; ++rep) {
    (void)(*s)->rewind(0);
    double a = sec(); auto l = (*s)->feed(ids); if (!l) { std::puts(l.error().message.c_str()); return 3; } double b = sec();
    int next = 0; 
    for (int n = 0; n < 57; ++n) { next = 0; for (size_t i = 0; i < l->size(); ++i) if ((*l)[i] > (*l)[next]) next = i; int one[1] = {next}; l = (*s)->feed(one); if (rep == 0 && n < 10) std::printf("%d ", next); }
    double e = sec(); Sha256 h; h.update_floats(*l);
    std::printf("prefill %.1f tok/s decode %.1f tok/s hash %s\n", 113 / (b - a), 57 / (e - b), to_hex(h.finish()).substr(0, 16).c_str());
  }
}
