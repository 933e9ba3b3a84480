#include "lm/trace.h"

#include <bit>
#include <unordered_map>

#include "core/fp_environment.h"
#include "layers/adapter.h"

namespace loom {
namespace {

void update_text(Sha256& hash, std::string_view text) {
  hash.update_u32(static_cast<std::uint32_t>(text.size()));
  hash.update(std::as_bytes(std::span(text)));
}

void update_double(Sha256& hash, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  hash.update_u32(static_cast<std::uint32_t>(bits)), hash.update_u32(static_cast<std::uint32_t>(bits >> 32));
}

void update_digest(Sha256& hash, const Digest& digest) { hash.update(std::as_bytes(std::span(digest))); }

// Types whose values a float rounds.
bool is_wider_than_float(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::int64:
    case DType::int32:
    case DType::uint64:
    case DType::uint32: return true;
    default: return false;
  }
}

void update_matrix(Sha256& hash, const Matrix& matrix) {
  hash.update_u32(static_cast<std::uint32_t>(matrix.rows())),
      hash.update_u32(static_cast<std::uint32_t>(matrix.cols()));
  if (is_wider_than_float(matrix.dtype())) {
    std::vector<double> row(matrix.cols());
    for (std::size_t r = 0; r < matrix.rows(); ++r) {
      matrix.decode_row(r, row.data());
      for (const double value : row) update_double(hash, value);
    }
    return;
  }
  std::vector<float> rows(kPanelRows * matrix.cols());
  for (std::size_t p = 0; p < matrix.panels(); ++p) {
    matrix.decode_panel(p, rows.data());
    const std::size_t count = std::min(kPanelRows, matrix.rows() - p * kPanelRows);
    hash.update_floats(std::span(rows).first(count * matrix.cols()));
  }
}

void update_weight(Sha256& hash, const Weight& weight) {
  if (weight.role() == WeightRole::Matrix) {
    for (std::size_t part = 0; part < weight.parts(); ++part) update_matrix(hash, *weight.matrix(part));
    return;
  }
  std::vector<double> values(weight.elements());
  weight.decode(0, values.size(), values.data());
  for (const double value : values) update_double(hash, value);
}

// Collects the leaves of the cells of a network; rows of a cell come in the order of the tokens.
class LeafWatch final : public LayerWatch {
 public:
  explicit LeafWatch(const Network& network) : leaves(network.num_cells()) {
    for (std::size_t cell = 0; cell < network.num_cells(); ++cell) cells_.emplace(network.cell(cell).operation(), cell);
  }
  void after_forward(const Layer& layer, const ConstView& /*x*/, const ConstView& y) override {
    const auto found = cells_.find(&layer);
    if (found == cells_.end()) return;
    const ConstTensor rows = y;
    for (std::size_t r = 0; r < rows.rows; ++r) {
      Sha256 hash;
      hash.update_floats({rows.row(r), rows.cols});
      leaves[found->second].push_back(hash.finish());
    }
  }
  void after_backward(const Layer& /*layer*/, const ConstView& /*dy*/, const ConstView& /*dx*/) override {}

  std::vector<std::vector<Digest>> leaves;  // [cell][row]

 private:
  std::unordered_map<const Layer*, std::size_t> cells_;
};

Digest merkle(std::span<const Digest> leaves) {
  Sha256 hash;
  constexpr std::byte kLeaf{0}, kNode{1};
  if (leaves.size() == 1) {
    hash.update(std::span(&kLeaf, 1));
    update_digest(hash, leaves[0]);
    return hash.finish();
  }
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  hash.update(std::span(&kNode, 1));
  update_digest(hash, merkle(leaves.first(left)));
  update_digest(hash, merkle(leaves.subspan(left)));
  return hash.finish();
}

}  // namespace

Digest merkle_root(std::span<const Digest> leaves) { return leaves.empty() ? Sha256().finish() : merkle(leaves); }

std::string trace_layer_name(std::size_t layer, std::size_t count) {
  if (layer == 0) return "embedding";
  if (layer + 1 == count) return "head";
  return layer + 2 == count ? "norm" : fmt::format("layer {}", layer - 1);
}

Result<std::unique_ptr<Session>> trace_session(const Session& like) {
  SessionOptions options;
  options.pool = like.pool(), options.isa = like.isa(), options.activations = like.activations();
  options.context_tokens = like.context_tokens(), options.kv_dtype = like.kv_dtype();
  options.adapters = like.adapters();
  return Session::create(like.shared_model(), options);
}

std::vector<Digest> weight_digests(const DecoderModel& model, const std::vector<std::string>* adapters,
                                   ThreadPool& pool) {
  const FpEnvironment environment;
  const Network& net = model.network;
  std::vector<Digest> out(net.num_cells());
  pool.run(net.num_cells(), [&](std::size_t cell) {
    Sha256 hash;
    if (Layer* const layer = net.cell(cell).operation())
      visit_weights("", *layer, [&](const std::string& name, Weight& weight, Layer&) {
        if (weight.role() == WeightRole::Adapter) return;  // those of a matrix follow with it
        update_text(hash, name);
        update_weight(hash, weight);
        for (const Adapter& adapter : weight.adapters()) {
          if (!counts(adapter, adapters)) continue;
          update_text(hash, adapter.name);
          update_double(hash, adapter.scale);
          update_weight(hash, adapter.a), update_weight(hash, adapter.b);
        }
      });
    out[cell] = hash.finish();
  });
  return out;
}

Result<Trace> trace_tokens(Session& session, std::span<const std::int32_t> ids, std::size_t num_prompt,
                           std::vector<float>& logits, const std::atomic<bool>* cancel) {
  if (session.device() != nullptr)
    return fail(Code::Unsupported, "a trace is computed on the host, this session is on a graphics card");
  if (num_prompt == 0 || num_prompt > ids.size())
    return fail(Code::InvalidArgument, "{} tokens of a prompt of {} tokens in all: expected at least 1", num_prompt,
                ids.size());
  LOOM_TRY_VOID(session.clear(0));
  LeafWatch watch(session.model().network);
  session.set_watch(&watch);
  const std::size_t first_drawn = num_prompt - 1;  // the first token with logits
  Result<void> done;
  if (first_drawn > 0) done = session.prefill(ids.first(first_drawn), 0, cancel);
  if (done)
    done = session.feed_all(
        ids.subspan(first_drawn),
        [&](std::size_t, std::span<const float> row) { logits.assign(row.begin(), row.end()); }, 0, cancel);
  session.set_watch(nullptr);
  LOOM_TRY_VOID(session.clear(0));
  if (!done) return tl::make_unexpected(std::move(done).error());

  Trace out;
  std::vector<Sha256> tokens(ids.size());
  for (const std::vector<Digest>& leaves : watch.leaves) {
    Sha256 layer;
    const std::size_t skipped = ids.size() - leaves.size();  // by norm and head
    for (std::size_t row = 0; row < leaves.size(); ++row) {
      update_digest(layer, leaves[row]);
      update_digest(tokens[skipped + row], leaves[row]);
    }
    out.layers.push_back(layer.finish());
  }
  for (Sha256& token : tokens) out.tokens.push_back(token.finish());
  return out;
}

void seal_trace(Trace& trace) {
  std::vector<Digest> leaves = trace.weights;
  leaves.insert(leaves.end(), trace.layers.begin(), trace.layers.end());
  leaves.insert(leaves.end(), trace.tokens.begin(), trace.tokens.end());
  trace.root = merkle_root(leaves);
}

std::vector<std::int32_t> fed_ids(std::span<const std::int32_t> prompt, std::span<const std::int32_t> drawn,
                                  bool ended_by_token) {
  std::vector<std::int32_t> out(prompt.begin(), prompt.end());
  if (!ended_by_token && !drawn.empty()) drawn = drawn.first(drawn.size() - 1);
  out.insert(out.end(), drawn.begin(), drawn.end());
  return out;
}

}  // namespace loom
