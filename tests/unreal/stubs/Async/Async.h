// Stubs of Unreal's tasks: threads that the test joins, and a queue that it runs as the game thread would.
#pragma once

#include "CoreMinimal.h"

enum class EAsyncExecution { ThreadPool };
namespace ENamedThreads {
enum Type { GameThread };
}

struct StubTasks {
  std::mutex mutex;
  std::vector<std::function<void()>> game;
  std::vector<std::thread> pool;
};
inline StubTasks stub_tasks;

inline void AsyncTask(ENamedThreads::Type, std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(stub_tasks.mutex);
  stub_tasks.game.push_back(std::move(task));
}

inline void Async(EAsyncExecution, std::function<void()> task) { stub_tasks.pool.emplace_back(std::move(task)); }
