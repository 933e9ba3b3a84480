#pragma once
// Which device takes less time ("auto"), by a cost model: what a pass has to do, counted in a rehearsal, over rates
// that are measured once in a process. Results have the same bits on all devices, so a poor choice costs time alone.

#include <string>

#include "lm/decoder.h"
#include "network/session/network_session.h"

namespace loom {

// The work of a pass, on the CPU and on a card.
struct PassWork {
  double multiply_adds = 0;
  double weight_bytes = 0;      // that are read
  double activation_bytes = 0;  // that are written, and those of an update
  double layers = 0;            // calls of layers
  double kernels = 0;           // that run one after the other on a card
  double trips = 0;             // of values in the middle, each as long as a pass that does nothing
  double passes = 1;            // of which the time before the first one is a part
};

struct DeviceRates {
  double multiply_adds = 0, bytes = 0;  // in a second
  double step_s = 0;                    // of a layer on the CPU, of a kernel on a card, however little it does
  double pass_s = 0;                    // of a pass beside its work: what travels, and the wait for it
  double start_s = 0;                   // before the first pass: compilation, weights that travel
};

// Seconds of a pass of this work; `steps` are its layers, or its kernels.
double seconds_of(const PassWork& work, double steps, const DeviceRates& rates);

struct DeviceChoice {
  bool is_card = false;
  double here_s = 0, card_s = 0;  // that a pass is expected to take
  std::string reason;             // one line
};
// `card` is the name of the card in the reason.
DeviceChoice choose_device(const PassWork& work, const DeviceRates& here, const DeviceRates& card,
                           const std::string& name);

// Work of a pass of the plan's input, with the pass back and an update of the weights where the options have
// `backward`. Kernels are counted on the device: its errors are those of operations that it has no form for.
Result<PassWork> work_of(const Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                         const NetworkSessionOptions& options, Device& device);
// Work of a language model for one more token.
PassWork work_of(const DecoderModel& model);

// Measured at the first call; null: this computer with so many threads, 0 for one per physical core.
Result<DeviceRates> measured_rates(Device* device, int threads);

}  // namespace loom
