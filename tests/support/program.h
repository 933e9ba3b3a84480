#pragma once
// Runs the real loom program and keeps what it wrote.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "files.h"

namespace loom::test {

inline std::string loom_binary() { return test::binary_path("bin/loom"); }

// Until something holds that another process brings about. Looks often, and gives up only when a machine that is busy
// with other work would have come to it too.
constexpr std::chrono::minutes kPatience{10};
template <class F>
bool wait_until(F done) {
  for (const auto deadline = std::chrono::steady_clock::now() + kPatience; std::chrono::steady_clock::now() < deadline;
       usleep(2000))
    if (done()) return true;
  return false;
}

struct Outcome {
  int status = -1;  // exit code, or 128 + signal
  std::string out, err;
};

// One run. The streams are pipes unless a member below says otherwise.
class Program {
 public:
  std::string stdout_file;  // a path instead of the pipe
  bool close_stdin = false, close_stdout = false;
  std::vector<std::string> environment;  // NAME=VALUE, beside what this process has
  int ignored_signal = 0;                // as nohup does with SIGHUP
  std::size_t memory_limit = 0;          // bytes of address space

  explicit Program(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
    signal(SIGPIPE, SIG_IGN);  // a write to a program that has ended is an error of send(), not the end of the tests
  }
  ~Program() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    for (const int fd : {in_, out_, err_})
      if (fd >= 0) close(fd);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void start() {
    int in[2], out[2], err[2];
    ASSERT_TRUE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);
    std::vector<char*> argv;
    for (std::string& a : arguments_) argv.push_back(a.data());
    argv.push_back(nullptr);
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      for (const int stop : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
        signal(stop, stop == ignored_signal ? SIG_IGN : SIG_DFL);
      if (memory_limit != 0) {
        const rlimit limit{memory_limit, memory_limit};
        setrlimit(RLIMIT_AS, &limit);
      }
      for (std::string& variable : environment) putenv(variable.data());
      dup2(in[0], 0), dup2(out[1], 1), dup2(err[1], 2);
      if (!stdout_file.empty()) dup2(open(stdout_file.c_str(), O_WRONLY), 1);
      if (close_stdin) close(0);
      if (close_stdout) close(1);
      execvp(argv[0], argv.data());
      _exit(127);
    }
    close(in[0]), close(out[1]), close(err[1]);
    in_ = in[1], out_ = out[0], err_ = err[0];
  }
  // A program may end, or close its input, before it has read this; the outcome shows whether it should have.
  void send(const std::string& text) {
    const ssize_t written = write(in_, text.data(), text.size());
    EXPECT_TRUE(written == static_cast<ssize_t>(text.size()) || errno == EPIPE)
        << written << " of " << text.size() << " bytes written";
  }
  void end_input() { close(in_), in_ = -1; }
  void interrupt(int signal = SIGINT) { EXPECT_EQ(kill(pid_, signal), 0); }
  // Until it has computed for so long, whatever else the machine does; false when it ended.
  bool wait_for_work(double seconds) {
    const std::string path = fmt::format("/proc/{}/stat", pid_);
    bool runs = true;
    const bool worked = wait_until([&] {
      std::istringstream stat(read_all(path));
      std::string skipped;
      std::getline(stat, skipped, ')');
      char state = 'Z';
      double user = 0, system = 0;
      stat >> state;
      for (int i = 0; i < 10; ++i) stat >> skipped;
      stat >> user >> system;
      runs = state != 'Z';
      return !runs || (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)) >= seconds;
    });
    return worked && runs;
  }
  // Reads until stdout holds `bytes` bytes after those that it held, or `text`; false when the program ended or
  // kPatience went by.
  bool wait_for_output(std::size_t bytes) {
    const std::size_t wanted = outcome_.out.size() + bytes;
    while (outcome_.out.size() < wanted)
      if (!pump()) return false;
    return true;
  }
  bool wait_for_text(const std::string& text) {
    while (outcome_.out.find(text) == std::string::npos)
      if (!pump()) return false;
    return true;
  }
  // Until the program closes its streams; its standard input stays as it is.
  bool wait_for_end() {
    while (pump()) {}
    return out_ < 0 && err_ < 0;
  }
  const std::string& output() const { return outcome_.out; }

  Outcome finish() {
    if (in_ >= 0) end_input();
    while (pump()) {}
    int status = 0;
    if (std::chrono::steady_clock::now() >= deadline_) {
      ADD_FAILURE() << "the program did not end";
      kill(pid_, SIGKILL);
    }
    waitpid(pid_, &status, 0);
    pid_ = -1;
    outcome_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome_;
  }

 private:
  // One read from either stream; false at the end of both or at the deadline.
  bool pump() {
    pollfd fds[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    if (out_ < 0 && err_ < 0) return false;
    if (std::chrono::steady_clock::now() >= deadline_) return false;
    if (poll(fds, 2, 1000) < 0) return true;
    int* const ends[] = {&out_, &err_};
    std::string* const texts[] = {&outcome_.out, &outcome_.err};
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || (fds[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      char buffer[65536];
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      else
        close(*ends[i]), *ends[i] = -1;
    }
    return true;
  }

  std::vector<std::string> arguments_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + kPatience;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
  Outcome outcome_;
};

// loom ARGUMENTS, with `input` on stdin.
inline Outcome loom(std::vector<std::string> arguments, const std::string& input = {}) {
  arguments.insert(arguments.begin(), loom_binary());
  Program program(std::move(arguments));
  program.start();
  if (!input.empty()) program.send(input);
  return program.finish();
}

}  // namespace loom::test
