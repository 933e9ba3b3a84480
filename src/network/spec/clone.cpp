#include "network/spec/clone.h"

#include "core/json.h"
#include "layers/adapter.h"
#include "layers/all.h"
#include "layers/lora/lora.h"

namespace loom {
namespace {

// Records the addresses of a layer's settings, in the order of its fields...
class Settings final : public FieldVisitor {
 public:
  struct Entry {
    const void* member;  // null: `count` is the value
    std::uint64_t count = 0;
  };
  void operator()(Key, bool& v) override { note(&v); }
  void operator()(Key, std::string& v) override { note(&v); }
  void operator()(Key, std::optional<std::int64_t>& v) override { note(&v); }
  void operator()(Key, Activation& v) override { note(&v); }
  void operator()(Key, AxisSizes& v) override { note(&v); }
  void operator()(Key, std::vector<double>& v) override { note(&v); }
  void operator()(Key, std::vector<std::string>& v) override { note(&v); }
  void operator()(Key, std::vector<std::int64_t>& v) override { note(&v); }
  void operator()(Key, std::vector<bool>& v) override { note(&v); }
  void operator()(Key, SkipFrom& v) override { note(&v); }
  void operator()(Key, LayerRef& v) override { note(&v); }
  void operator()(Key, std::vector<LayerPtr>& v) override { note(&v); }
  void operator()(Key, LayerPtr& v) override { note(&v); }
  void json(Key, Json& v) override { note(&v); }
  void object(Key, const Fields& fields, std::string_view) override { fields(*this); }

  std::vector<Entry> entries;

 protected:
  void whole(Key, std::uint64_t& v, SizeRange) override { entries.push_back({nullptr, v}); }
  void wholes(Key, std::vector<std::size_t>& v, SizeRange) override { note(&v); }
  void number(Key, double& v, NumberRange) override { note(&v); }
  void number(Key, std::optional<double>& v, NumberRange) override { note(&v); }
  void list(Key, std::size_t size, const std::function<void(std::size_t)>&,
            const std::function<void(std::size_t, ConfigVisitor&)>& item) override {
    entries.push_back({nullptr, size});
    for (std::size_t i = 0; i < size; ++i) item(i, *this);
  }
  void choose(Key, std::size_t& index, std::span<const std::string_view>, Code) override {
    entries.push_back({nullptr, index});
  }

 private:
  void note(const void* member) { entries.push_back({member}); }
};

Result<LayerPtr> copy_of(const Layer& layer, bool keep_ties, const std::function<void(Layer&)>& edit);

// ...and reads them back into another layer of the kind.
class Copier final : public FieldVisitor {
 public:
  Copier(const std::vector<Settings::Entry>& from, bool keep_ties) : from_(from), keep_ties_(keep_ties) {}
  void operator()(Key, bool& v) override { take(v); }
  void operator()(Key, std::string& v) override { take(v); }
  void operator()(Key, std::optional<std::int64_t>& v) override { take(v); }
  void operator()(Key, Activation& v) override { take(v); }
  void operator()(Key, AxisSizes& v) override { take(v); }
  void operator()(Key, std::vector<double>& v) override { take(v); }
  void operator()(Key, std::vector<std::string>& v) override { take(v); }
  void operator()(Key, std::vector<std::int64_t>& v) override { take(v); }
  void operator()(Key, std::vector<bool>& v) override { take(v); }
  void operator()(Key, SkipFrom& v) override { take(v); }
  void operator()(Key, LayerRef& v) override {
    take(v);
    if (!keep_ties_) v = {};
  }
  void operator()(Key, std::vector<LayerPtr>& v) override {
    const auto& children = *static_cast<const std::vector<LayerPtr>*>(next().member);
    v.clear();
    for (const LayerPtr& child : children) v.push_back(copy(child));
  }
  void operator()(Key, LayerPtr& v) override { v = copy(*static_cast<const LayerPtr*>(next().member)); }
  void json(Key, Json& v) override { take(v); }
  void object(Key, const Fields& fields, std::string_view) override { fields(*this); }

  std::optional<Error> error;

 protected:
  void whole(Key, std::uint64_t& v, SizeRange) override { v = next().count; }
  void wholes(Key, std::vector<std::size_t>& v, SizeRange) override { take(v); }
  void number(Key, double& v, NumberRange) override { take(v); }
  void number(Key, std::optional<double>& v, NumberRange) override { take(v); }
  void list(Key, std::size_t, const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t, ConfigVisitor&)>& item) override {
    const auto size = static_cast<std::size_t>(next().count);
    resize(size);
    for (std::size_t i = 0; i < size; ++i) item(i, *this);
  }
  void choose(Key, std::size_t& index, std::span<const std::string_view>, Code) override {
    index = static_cast<std::size_t>(next().count);
  }

 private:
  const Settings::Entry& next() {
    LOOM_ASSERT(at_ < from_.size());
    return from_[at_++];
  }
  template <class T>
  void take(T& v) {
    v = *static_cast<const T*>(next().member);
  }
  LayerPtr copy(const LayerPtr& child) {
    if (!child || error) return nullptr;
    auto made = copy_of(*child, keep_ties_, nullptr);
    if (made) return std::move(*made);
    error = std::move(made).error();
    return nullptr;
  }
  const std::vector<Settings::Entry>& from_;
  bool keep_ties_;
  std::size_t at_ = 0;
};

// Settings alone; children come with their values.
Result<LayerPtr> settings_of(const Layer& layer, bool keep_ties, const std::function<void(Layer&)>& edit) {
  LayerPtr made = layer.kind_row().fresh();
  Settings settings;
  const_cast<Layer&>(layer).fields(settings);
  Copier copier(settings.entries, keep_ties);
  made->fields(copier);
  if (copier.error) return tl::make_unexpected(*std::move(copier.error));
  made->common = layer.common;
  if (edit) edit(*made);
  if (layer_as<Share>(layer) != nullptr) return made;  // the adapters in its settings have no weights
  LOOM_TRY_VOID(made->build());
  LOOM_TRY_VOID(attach_adapters(*made));
  return made;
}

Result<void> copy_values(const Layer& from, Layer& to, bool keep_ties) {
  std::vector<const Weight*> sources;
  const_cast<Layer&>(from).visit_all_weights([&](Weight& w) { sources.push_back(&w); });
  std::size_t next = 0;
  Result<void> done;
  to.visit_all_weights([&](Weight& w) {
    const Weight* source = next < sources.size() ? sources[next++] : nullptr;
    if (!done || source == nullptr || !source->has_value() || (keep_ties && source->is_tied()) ||
        source->name() != w.name() || !(source->shape() == w.shape()))
      return;
    done = w.copy_from(*source);
    w.freeze(source->is_frozen());
  });
  return done;
}

Result<LayerPtr> copy_of(const Layer& layer, bool keep_ties, const std::function<void(Layer&)>& edit) {
  LOOM_TRY(LayerPtr made, settings_of(layer, keep_ties, edit));
  // A layer around others may have given their weights adapters: all values once more, in the order of the tree.
  if (layer_as<Lora>(*made) != nullptr) {
    std::vector<Layer*> mine;
    visit_layers("", *made, [&](const std::string&, Layer& l) { mine.push_back(&l); });
    std::size_t next = 0;
    Result<void> done;
    visit_layers("", const_cast<Layer&>(layer), [&](const std::string&, Layer& l) {
      if (done && next < mine.size()) done = copy_values(l, *mine[next++], keep_ties);
    });
    if (!done) return tl::make_unexpected(std::move(done).error());
    return made;
  }
  LOOM_TRY_VOID(copy_values(layer, *made, keep_ties));
  return made;
}

Result<Cell> copy_of(const Cell& cell) {
  Cell made;
  if (cell.layer) {
    LOOM_TRY(made.layer, copy_of(*cell.layer, true, nullptr));
  }
  if (!cell.link) return made;
  LOOM_TRY(const LayerPtr share, settings_of(cell.link->share, true, nullptr));
  made.link = std::make_unique<Link>(Link{*layer_as<Share>(*share)});
  return made;
}

// Visits nothing but what a caller asks for.
class Places : public QuietFieldVisitor {
 public:
  using QuietFieldVisitor::operator();
  void operator()(Key key, Activation& v) override {
    if (key.names == "activation") activation = &v;
  }
  void operator()(Key key, std::vector<LayerPtr>& v) override { lists.emplace_back(key.first(), &v); }
  void operator()(Key key, LayerPtr& v) override {
    if (v) singles.emplace_back(key.first(), &v);
  }

  Activation* activation = nullptr;
  std::vector<std::pair<std::string_view, std::vector<LayerPtr>*>> lists;
  std::vector<std::pair<std::string_view, LayerPtr*>> singles;
};

}  // namespace

Result<LayerPtr> clone_layer(const Layer& layer, const std::function<void(Layer&)>& edit) {
  return copy_of(layer, false, edit);
}

Result<Network> clone_network(const Network& network) {
  LOOM_TRY(Network copy, Network::create(network.size()));
  copy.settings = network.settings;
  for (std::size_t i = 0; i < network.num_cells(); ++i) {
    if (network.cell(i).is_empty()) continue;
    auto cell = copy_of(network.cell(i));
    if (!cell) return under(network.steps(i), std::move(cell).error());
    copy.exchange(i, std::move(*cell));
  }
  return copy;
}

void visit_child_places(Layer& layer, const std::function<void(const std::string&, LayerPtr&)>& visit) {
  Places places;
  layer.fields(places);
  for (const auto& [key, children] : places.lists)
    for (std::size_t i = 0; i < children->size(); ++i) visit(fmt::format("{}.{}", key, i), (*children)[i]);
  for (const auto& [key, child] : places.singles) visit(std::string(key), *child);
}

std::vector<LayerPtr>* child_list(Layer& layer, std::string_view key) {
  Places places;
  layer.fields(places);
  for (const auto& [name, children] : places.lists)
    if (name == key) return children;
  return nullptr;
}

Activation* activation_setting(Layer& layer) {
  Places places;
  layer.fields(places);
  return places.activation;
}

}  // namespace loom
