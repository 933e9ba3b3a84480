// Stubs of the parts of Unreal's headers that bindings/unreal uses, for compiling and running it without Unreal.
// Names, arguments and behaviour are those of Unreal 5's documentation; texts are UTF-8 inside, not UTF-16.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using int32 = std::int32_t;
using TCHAR = char;
#define TEXT(words) words
#define UCLASS(...)
#define UPROPERTY(...)
#define UFUNCTION(...)
#define GENERATED_BODY() using Super = UObject;
#define WELVET_API

class FString {
 public:
  FString() = default;
  FString(const TCHAR* text) : text_(text) {}
  FString(int32 count, const TCHAR* text) : text_(text, static_cast<std::size_t>(count)) {}
  const TCHAR* operator*() const { return text_.c_str(); }

 private:
  std::string text_;
};

struct FCStringAnsi {
  static int32 Strlen(const char* text) { return static_cast<int32>(std::strlen(text)); }
};

class FUTF8ToTCHAR {
 public:
  FUTF8ToTCHAR(const char* text, int32 size) : text_(text, static_cast<std::size_t>(size)) {}
  const TCHAR* Get() const { return text_.c_str(); }
  int32 Length() const { return static_cast<int32>(text_.size()); }

 private:
  std::string text_;
};

class FTCHARToUTF8 {
 public:
  explicit FTCHARToUTF8(const TCHAR* text) : text_(text) {}
  const char* Get() const { return text_.c_str(); }
  int32 Length() const { return static_cast<int32>(text_.size()); }

 private:
  std::string text_;
};

template <class T>
class TArray {
 public:
  void Append(const T* items, int32 count) { items_.insert(items_.end(), items, items + count); }
  int32 Num() const { return static_cast<int32>(items_.size()); }
  const T* GetData() const { return items_.data(); }

 private:
  std::vector<T> items_;
};

enum class ESPMode { NotThreadSafe, ThreadSafe };
template <class T, ESPMode>
class TSharedPtr {
 public:
  TSharedPtr() = default;
  explicit TSharedPtr(std::shared_ptr<T> object) : object_(std::move(object)) {}
  bool IsValid() const { return object_ != nullptr; }
  T* operator->() const { return object_.get(); }
  void Reset() { object_.reset(); }

 private:
  std::shared_ptr<T> object_;
};
template <class T, ESPMode Mode>
TSharedPtr<T, Mode> MakeShared() {
  return TSharedPtr<T, Mode>(std::make_shared<T>());
}

class UObject {
 public:
  virtual ~UObject() = default;
  virtual void BeginDestroy() { *alive_ = false; }
  std::shared_ptr<bool> alive() const { return alive_; }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

template <class T>
class TWeakObjectPtr {
 public:
  explicit TWeakObjectPtr(T* object) : object_(object), alive_(object->alive()) {}
  T* Get() const { return *alive_ ? object_ : nullptr; }

 private:
  T* object_;
  std::shared_ptr<bool> alive_;
};

template <class... Arguments>
class StubDelegate {
 public:
  void Broadcast(Arguments... arguments) const {
    for (const auto& listener : listeners) listener(arguments...);
  }
  std::vector<std::function<void(Arguments...)>> listeners;
};
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(name, type, argument) using name = StubDelegate<type>
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(name, type, argument, type2, argument2) \
  using name = StubDelegate<type, type2>
