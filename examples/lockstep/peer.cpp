// One process of a world in lockstep, in C++ over loom.hpp:
//   example_lockstep PORT FOLDER NAME [--flip TICK:CHARACTER:WEIGHT:INDEX:BIT] [--isa NAME]
// Rules, protocol and files: docs/guide/lockstep.md.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "world.h"

namespace {

using namespace lockstep;

// The connection to the relay: a line out, a line back.
class Relay {
 public:
  explicit Relay(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket_ < 0 || connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("there is no relay at port " + std::to_string(port));
    const int at_once = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() { close(socket_); }

  // Sends a line and returns the first word of the answer; the others, which are numbers, go into `numbers`.
  std::string ask(const std::string& line, std::vector<int>& numbers) {
    const std::string text = line + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) throw std::runtime_error("the relay has gone");
      sent += static_cast<std::size_t>(count);
    }
    std::istringstream words(next_line());
    std::string first;
    words >> first;
    numbers.clear();
    for (int number = 0; words >> number;) numbers.push_back(number);
    return first;
  }

 private:
  std::string next_line() {
    for (;;) {
      if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
        const std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      char buffer[512];
      const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
      if (count <= 0) throw std::runtime_error("the relay has gone");
      received_.append(buffer, static_cast<std::size_t>(count));
    }
  }

  int socket_;
  std::string received_;
};

// Stands for a keyboard: a walk, and a call that changes every 32 ticks.
class Controls {
 public:
  explicit Controls(int player) : player_(player), state_(0x9E3779B9U ^ static_cast<std::uint32_t>(player + 1)) {}

  int next(int tick) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return static_cast<int>((state_ >> 8) % 9) + 9 * ((tick / 32 + player_) % 3);
  }

 private:
  int player_;
  std::uint32_t state_;
};

struct Options {
  int port = 0;
  std::string folder, name, isa;
  std::optional<Flip> flip;
};

Flip flip_of(const std::string& text) {
  std::istringstream parts(text);
  std::string tick, character, index, bit;
  Flip flip;
  std::getline(parts, tick, ':');
  std::getline(parts, character, ':');
  std::getline(parts, flip.weight, ':');
  std::getline(parts, index, ':');
  std::getline(parts, bit, ':');
  flip.tick = std::stoi(tick), flip.character = std::stoi(character);
  flip.index = std::stoi(index), flip.bit = std::stoi(bit);
  return flip;
}

Options read_options(int count, char** arguments) {
  const char* const usage =
      "usage: example_lockstep PORT FOLDER NAME [--flip TICK:CHARACTER:WEIGHT:INDEX:BIT] [--isa NAME]";
  Options options;
  std::vector<std::string> places;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    const bool is_option = word == "--flip" || word == "--isa";
    if (is_option && i + 1 == count) throw std::runtime_error(usage);
    if (word == "--flip")
      options.flip = flip_of(arguments[++i]);
    else if (word == "--isa")
      options.isa = arguments[++i];
    else
      places.push_back(word);
  }
  if (places.size() != 3) throw std::runtime_error(usage);
  options.port = std::stoi(places[0]), options.folder = places[1], options.name = places[2];
  return options;
}

// Returns whether all processes agree to the end.
bool play(const Options& options) {
  Relay relay(options.port);
  std::vector<int> numbers;
  if (relay.ask("hello " + options.name, numbers) != "start" || numbers.size() != 4)
    throw std::runtime_error("the relay does not speak this protocol");
  const int player = numbers[0], players = numbers[1], ticks = numbers[2], characters = numbers[3];
  World world(players, characters, options.isa);
  Controls controls(player);
  const std::string path = options.folder + "/" + options.name;
  std::ofstream log(path + ".ticks", std::ios::binary);
  std::string hash = "-", answer = "go";
  for (int tick = 0; tick < ticks; ++tick) {
    answer =
        relay.ask("tick " + std::to_string(tick) + " " + hash + " " + std::to_string(controls.next(tick)), numbers);
    if (answer != "go") break;
    hash = world.step(numbers, options.flip ? &*options.flip : nullptr);
    log << tick << " " << hash << "\n";
  }
  if (answer == "go")
    answer = relay.ask("end " + std::to_string(ticks) + " " + hash + " " + std::to_string(world.right()), numbers);
  std::ofstream state(path + ".state.json", std::ios::binary);
  state << "{\"name\": \"" << options.name << "\", \"tick\": " << world.tick() - 1 << ", \"hash\": \"" << hash
        << "\", \"characters\": " << world.state() << "}\n";
  log.flush(), state.flush();
  if (!log || !state) throw std::runtime_error(path + ": cannot be written");
  return answer == "equal";
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return play(read_options(count, arguments)) ? 0 : 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_lockstep: %s\n", error.what());
    return 1;
  }
}
