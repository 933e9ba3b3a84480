// Receipts of loom.h: proofs of results, and their replay.

#include "capi/graph_objects.h"
#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/replay_receipt.h"

using namespace loom;
using namespace loom::capi;

loom_status loom_generator_receipt(loom_generator generator, loom_blob* receipt) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(receipt));
    LOOM_TRY(const auto use, take<GeneratorObject>(generator, "generator"));
    const SessionObject& session = *use->session;
    LOOM_TRY(const Turn session_turn, Turn::of(*use->session, "session"));
    LOOM_TRY(Receipt made, receipt_of(session.model->model, *session.session, use->generator.options(),
                                      use->generator.result(), use->prompt));
    LOOM_TRY(const Json sealed, seal(std::move(made)));
    LOOM_TRY(*receipt, make_blob(sealed));
    return {};
  });
}

loom_status loom_encoder_receipt(loom_encoder encoder, loom_blob* receipt) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(receipt));
    LOOM_TRY(const auto taken, take<EncoderObject>(encoder, "encoder"));
    LOOM_TRY(Receipt made, taken->receipt);
    LOOM_TRY(const Json sealed, seal(std::move(made)));
    LOOM_TRY(*receipt, make_blob(sealed));
    return {};
  });
}

loom_status loom_receipt_replay(const void* receipt, size_t receipt_size, const char* model, const char* folder,
                                const char* device, loom_cancel cancel, loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const std::string_view text, need_bytes(receipt, receipt_size, "receipt"));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const Json json, parse_json(text, kReceiptLimits));
    ReceiptReplayOptions options;
    if (model != nullptr) options.model = model;
    if (folder != nullptr) options.folder = folder;
    if (device != nullptr) options.device = device;
    options.cancel = stop.flag();
    LOOM_TRY(const ReceiptReplay done, replay_receipt(json, options));
    LOOM_TRY(*report, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_file_hash(const char* path, loom_blob* hash) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(hash));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const Digest digest, content_hash(std::string(name)));
    LOOM_TRY(*hash, make_blob(to_hex(digest)));
    return {};
  });
}
