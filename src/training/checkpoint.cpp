#include "training/checkpoint.h"

#include <bit>
#include <cstring>

#include "core/json.h"
#include "core/little_endian.h"
#include "core/nearest.h"
#include "io/entity/entity.h"
#include "io/network_file.h"

namespace loom {
namespace {

// Doubles as their bits: a state that goes through a decimal text would still be the same, but not at a glance.
Json bits_of(double value) { return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value)); }

Result<double> from_bits(const Json* value) {
  const std::string* text = value == nullptr ? nullptr : as_string(*value);
  std::uint64_t bits = 0;
  if (text == nullptr || text->size() != 16)
    return fail(Code::CorruptData, "checkpoint: 16 hexadecimal digits expected");
  for (const char c : *text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return fail(Code::CorruptData, "checkpoint: 16 hexadecimal digits expected");
    bits = bits << 4 | static_cast<std::uint64_t>(digit);
  }
  return std::bit_cast<double>(bits);
}

Result<std::uint64_t> whole(const Json& object, std::string_view key) {
  const Json* value = find(object, key);
  const auto n = value == nullptr ? std::nullopt : as_int(*value);
  if (!n || *n < 0) return fail(Code::CorruptData, "checkpoint: {} is missing or no count", key);
  return static_cast<std::uint64_t>(*n);
}

void append(std::vector<std::byte>& to, const void* values, std::size_t count, std::size_t each) {
  const std::size_t at = to.size();
  to.resize(at + count * each);
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* from = static_cast<const std::byte*>(values) + i * each;
    if (each == 4) {
      std::uint32_t v;
      std::memcpy(&v, from, 4);
      store_le(to.data() + at + i * 4, v);
    } else {
      std::uint64_t v;
      std::memcpy(&v, from, 8);
      store_le(to.data() + at + i * 8, v);
    }
  }
}

void read_back(const std::byte* from, void* values, std::size_t count, std::size_t each) {
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* to = static_cast<std::byte*>(values) + i * each;
    if (each == 4) {
      const auto v = load_le<std::uint32_t>(from + i * 4);
      std::memcpy(to, &v, 4);
    } else {
      const auto v = load_le<std::uint64_t>(from + i * 8);
      std::memcpy(to, &v, 8);
    }
  }
}

Json state_json(const TrainerState& s) {
  return {{"steps", s.steps},
          {"optimizer_steps", s.optimizer_steps},
          {"good_steps", s.good_steps},
          {"skipped", s.skipped},
          {"skipped_in_a_row", s.skipped_in_a_row},
          {"loss_scale", bits_of(s.loss_scale)},
          {"plateau",
           {{"rate", bits_of(s.plateau.rate)},
            {"best", bits_of(s.plateau.best)},
            {"bad", s.plateau.bad},
            {"cooldown_left", s.plateau.cooldown_left},
            {"seen", s.plateau.seen}}}};
}

Result<TrainerState> state_from(const Json& json) {
  TrainerState s;
  LOOM_TRY(s.steps, whole(json, "steps"));
  LOOM_TRY(s.optimizer_steps, whole(json, "optimizer_steps"));
  LOOM_TRY(s.good_steps, whole(json, "good_steps"));
  LOOM_TRY(s.skipped, whole(json, "skipped"));
  LOOM_TRY(s.skipped_in_a_row, whole(json, "skipped_in_a_row"));
  LOOM_TRY(s.loss_scale, from_bits(find(json, "loss_scale")));
  const Json* plateau = find(json, "plateau");
  if (plateau == nullptr) return fail(Code::CorruptData, "checkpoint: plateau is missing");
  LOOM_TRY(s.plateau.rate, from_bits(find(*plateau, "rate")));
  LOOM_TRY(s.plateau.best, from_bits(find(*plateau, "best")));
  LOOM_TRY(s.plateau.bad, whole(*plateau, "bad"));
  LOOM_TRY(s.plateau.cooldown_left, whole(*plateau, "cooldown_left"));
  const Json* seen = find(*plateau, "seen");
  s.plateau.seen = seen != nullptr && as_bool(*seen).value_or(false);
  return s;
}

Json position_json(const RunPosition& p) {
  Json history = Json::array();
  for (const double loss : p.loss_history) history.push_back(bits_of(loss));
  Json out{{"epoch", p.epoch},
           {"samples", p.samples},
           {"loss_sum", bits_of(p.loss_sum)},
           {"loss_batches", p.loss_batches},
           {"loss_history", std::move(history)},
           {"validations", p.validations},
           {"bad_validations", p.bad_validations},
           {"cells", p.cells}};
  if (p.best) out["best"] = bits_of(*p.best), out["best_hash"] = p.best_hash;
  if (p.first_validation) out["first_validation"] = bits_of(*p.first_validation);
  return out;
}

Result<RunPosition> position_from(const Json& json) {
  RunPosition p;
  LOOM_TRY(p.epoch, whole(json, "epoch"));
  LOOM_TRY(p.samples, whole(json, "samples"));
  LOOM_TRY(p.loss_sum, from_bits(find(json, "loss_sum")));
  LOOM_TRY(p.loss_batches, whole(json, "loss_batches"));
  LOOM_TRY(p.validations, whole(json, "validations"));
  LOOM_TRY(p.bad_validations, whole(json, "bad_validations"));
  const Json* history = find(json, "loss_history");
  if (history == nullptr || !history->is_array()) return fail(Code::CorruptData, "checkpoint: loss_history is missing");
  for (const Json& loss : *history) {
    LOOM_TRY(const double value, from_bits(&loss));
    p.loss_history.push_back(value);
  }
  const Json* cells = find(json, "cells");
  if (cells == nullptr || as_string(*cells) == nullptr) return fail(Code::CorruptData, "checkpoint: cells are missing");
  p.cells = *as_string(*cells);
  if (const Json* best = find(json, "best")) {
    LOOM_TRY(p.best, from_bits(best));
    const Json* hash = find(json, "best_hash");
    if (hash == nullptr || as_string(*hash) == nullptr)
      return fail(Code::CorruptData, "checkpoint: best_hash is missing");
    p.best_hash = *as_string(*hash);
  }
  if (const Json* first = find(json, "first_validation")) {
    LOOM_TRY(p.first_validation, from_bits(first));
  }
  return p;
}

// Everything beside the network that a checkpoint holds as numbers.
std::vector<Trainer::Slot> all_slots(Trainer& trainer, Keep keep) {
  std::vector<Trainer::Slot> all = keep == Keep::trained ? trainer.masters() : std::vector<Trainer::Slot>();
  for (Trainer::Slot& slot : trainer.slots()) all.push_back(std::move(slot));
  return all;
}

}  // namespace

void add_way_on(Error& error, const Trainer& trainer, std::optional<std::uint64_t> saved_step) {
  const bool is_of_card = error.code == Code::DeviceLost || error.code == Code::OutOfMemory;
  if (is_of_card && trainer.device() != nullptr && saved_step)
    error.message += fmt::format(
        "; the checkpoint of step {} is intact: --resume goes on from it, with {} too", *saved_step,
        precision_of(trainer.device()) == Precision::Strict ? "--device cpu" : "another card and --precision fast");
}

void add_precision(Json& to, Precision precision) {
  if (precision != Precision::Strict) to["precision"] = name(precision);
}

Result<void> save_checkpoint(const std::string& path, Trainer& trainer, const RunPosition& position,
                             const Json& identity, Journal& journal, Keep keep) {
  EntityWriter writer;
  LOOM_TRY_VOID(trainer.fetch_weights());
  std::vector<std::byte> network;
  if (keep == Keep::network) {
    LOOM_TRY(network, network_to_entity(trainer.network(), {.keep_master = true}));
    LOOM_TRY(const EntityReader reader, EntityReader::parse(network));
    LOOM_TRY_VOID(writer.add_all(reader));
  }
  Json slots = Json::array();
  std::vector<std::byte> bytes;
  for (const Trainer::Slot& slot : all_slots(trainer, keep)) {
    const std::size_t elements = slot.values.rows * slot.values.cols, each = bytes_of(slot.values.element);
    slots.push_back({{"name", slot.name}, {"elements", elements}, {"bytes", each}});
    std::vector<std::byte> values(slot.values.bytes());
    slot.read(values);
    append(bytes, values.data(), elements, each);
  }
  Json pairs = Json::array();
  for (const Lbfgs::Pair& pair : trainer.lbfgs_pairs()) {
    pairs.push_back(pair.s.size());
    append(bytes, pair.s.data(), pair.s.size(), 8);
    append(bytes, pair.y.data(), pair.y.size(), 8);
  }
  // States that batches to come take over: as their bytes, by session.
  Json carried = Json::array();
  for (const std::vector<std::byte>& state : trainer.save_states()) {
    carried.push_back(state.size());
    bytes.insert(bytes.end(), state.begin(), state.end());
  }
  if (trainer.device() != nullptr) LOOM_TRY_VOID(trainer.device()->check());  // of the reads above
  LOOM_TRY(const JournalMark mark, journal.sync());
  Json train{{"identity", identity},
             {"journal", to_json(mark)},
             {"state", state_json(trainer.state())},
             {"position", position_json(position)},
             {"slots", slots},
             {"pairs", pairs},
             {"carried", carried}};
  add_precision(train, precision_of(trainer.device()));
  LOOM_TRY(std::string text, dump_canonical(train));
  LOOM_TRY_VOID(writer.add_text("train", 0, 0, std::move(text)));
  if (!bytes.empty()) LOOM_TRY_VOID(writer.add("optim", 0, 0, bytes));
  LOOM_TRY_VOID(writer.write(path));
  return {};
}

Result<Checkpoint> read_checkpoint(const std::string& path) {
  LOOM_TRY(const auto file, MappedFile::open(path));
  auto read = parse_checkpoint(file->bytes());
  if (!read) return at(path, std::move(read).error());
  return read;
}

Result<Checkpoint> parse_checkpoint(std::span<const std::byte> bytes) {
  LOOM_TRY(const EntityReader reader, EntityReader::parse(bytes));
  if (reader.find("train") == nullptr)
    return fail(Code::CorruptData, "no checkpoint of a training: section \"train\" is missing");
  LOOM_TRY(const auto text, reader.section("train"));
  LOOM_TRY(Json train, parse_json({reinterpret_cast<const char*>(text.data()), text.size()}));
  LOOM_TRY(JournalMark journal, journal_mark_from(find(train, "journal")));
  Checkpoint out{{}, std::move(train), {}, std::move(journal)};
  if (reader.find("network") != nullptr) {
    LOOM_TRY(SpecResult loaded, network_from_entity(bytes));
    out.network = std::move(loaded.network);
  }
  if (reader.find("optim") != nullptr) {
    LOOM_TRY(const auto state, reader.section("optim"));
    out.optimizer.assign(state.begin(), state.end());
  }
  return out;
}

namespace {

// Reads the optimiser's section front to back.
class SectionReader {
 public:
  explicit SectionReader(const Checkpoint& checkpoint) : bytes_(checkpoint.optimizer) {}

  Result<const std::byte*> take(std::size_t count, std::size_t each) {
    if (count > (bytes_.size() - at_) / each)
      return fail(Code::CorruptData, "checkpoint: the optimiser's section ends early");
    const std::byte* from = bytes_.data() + at_;
    at_ += count * each;
    return from;
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

Result<void> restore_slot(const Json& said, const Trainer::Slot& own, SectionReader& section) {
  const Json* name = find(said, "name");
  LOOM_TRY(const std::uint64_t elements, whole(said, "elements"));
  LOOM_TRY(const std::uint64_t each, whole(said, "bytes"));
  const std::size_t want = own.values.rows * own.values.cols, want_each = bytes_of(own.values.element);
  const std::string* text = name == nullptr ? nullptr : as_string(*name);
  if (text == nullptr || *text != own.name || elements != want || each != want_each)
    return fail(Code::ShapeMismatch, "checkpoint: slot {} of {} elements, the optimiser has {} of {}",
                text == nullptr ? "?" : printable(*text), elements, own.name, want);
  LOOM_TRY(const std::byte* from, section.take(want, want_each));
  std::vector<std::byte> values(own.values.bytes());
  read_back(from, values.data(), want, want_each);
  own.write(values);
  return {};
}

Result<Lbfgs::Pair> pair_from(const Json& length, SectionReader& section) {
  const auto n = as_int(length);
  if (!n || *n < 0) return fail(Code::CorruptData, "checkpoint: pairs hold no lengths");
  Lbfgs::Pair pair;
  for (std::vector<double>* part : {&pair.s, &pair.y}) {
    LOOM_TRY(const std::byte* from, section.take(static_cast<std::size_t>(*n), 8));
    part->resize(static_cast<std::size_t>(*n));
    read_back(from, part->data(), part->size(), 8);
  }
  return pair;
}

}  // namespace

Result<RunPosition> restore_trainer(const Checkpoint& checkpoint, Trainer& trainer) {
  const Json *state = find(checkpoint.train, "state"), *position = find(checkpoint.train, "position"),
             *slots = find(checkpoint.train, "slots"), *pairs = find(checkpoint.train, "pairs");
  if (state == nullptr || position == nullptr || slots == nullptr || !slots->is_array() || pairs == nullptr ||
      !pairs->is_array())
    return fail(Code::CorruptData, "checkpoint: state, position, slots or pairs are missing");
  const Json* const said = find(checkpoint.train, "precision");
  const std::string_view begun =
      said == nullptr || as_string(*said) == nullptr ? name(Precision::Strict) : *as_string(*said);
  if (begun != name(precision_of(trainer.device())))
    return fail(Code::InvalidConfig, "a run of precision {} goes on with that alone, not with {}", begun,
                name(precision_of(trainer.device())));
  const Keep keep = checkpoint.network ? Keep::network : Keep::trained;
  const std::vector<Trainer::Slot> own = all_slots(trainer, keep);
  if (slots->size() != own.size())
    return fail(Code::ShapeMismatch, "checkpoint: {} slots of an optimiser, this one has {}", slots->size(),
                own.size());
  SectionReader section(checkpoint);
  for (std::size_t i = 0; i < own.size(); ++i) LOOM_TRY_VOID(restore_slot((*slots)[i], own[i], section));
  std::deque<Lbfgs::Pair> restored;
  for (const Json& length : *pairs) {
    LOOM_TRY(Lbfgs::Pair pair, pair_from(length, section));
    restored.push_back(std::move(pair));
  }
  std::vector<std::span<const std::byte>> carried;
  // older ones have none
  if (const Json* lengths = find(checkpoint.train, "carried"); lengths != nullptr && lengths->is_array())
    for (const Json& length : *lengths) {
      const auto n = as_int(length);
      if (!n || *n < 0) return fail(Code::CorruptData, "checkpoint: carried states hold no lengths");
      LOOM_TRY(const std::byte* from, section.take(static_cast<std::size_t>(*n), 1));
      carried.emplace_back(from, static_cast<std::size_t>(*n));
    }
  if (section.left() != 0)
    return fail(Code::CorruptData, "checkpoint: {} bytes follow the optimiser's slots", section.left());
  if (!restored.empty()) LOOM_TRY_VOID(trainer.restore_pairs(std::move(restored)));
  if (keep == Keep::trained) LOOM_TRY_VOID(trainer.commit_masters());
  if (!carried.empty()) LOOM_TRY_VOID(trainer.restore_states(carried));
  LOOM_TRY(const TrainerState trainer_state, state_from(*state));
  LOOM_TRY_VOID(trainer.restore(trainer_state));
  return position_from(*position);
}

Result<void> check_identity(const std::string& path, const Checkpoint& checkpoint, const Json& identity,
                            std::span<const std::string_view> changeable) {
  return check_identity(path, find(checkpoint.train, "identity"), identity, changeable);
}

Result<void> check_identity(const std::string& path, const Json* said, Json identity,
                            std::span<const std::string_view> changeable) {
  if (said == nullptr || !said->is_object())
    return fail(Code::CorruptData, "{}: what it belongs to is missing; another version of loom wrote it", path);
  Json kept = *said;
  for (Json* each : {&kept, &identity})
    if (const auto config = each->find("config"); config != each->end() && config->is_object())
      for (const std::string_view key : changeable) config->erase(std::string(key));
  if (const std::string differs = first_difference(kept, identity); !differs.empty())
    return fail(Code::InvalidConfig, "{}: the checkpoint belongs to another run: {}", path, differs);
  return {};
}

}  // namespace loom
