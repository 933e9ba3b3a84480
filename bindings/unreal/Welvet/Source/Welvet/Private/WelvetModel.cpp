#include "WelvetModel.h"

#include "Async/Async.h"

#include <atomic>
#include <loom/loom.h>

// The handles of a model. A thread that writes an answer shares them, so that they outlive the object.
struct FWelvetWork {
  loom_model Model = 0;
  loom_session Session = 0;
  loom_generator Generator = 0;
  loom_cancel Cancel = 0;
  std::atomic<bool> bBusy{false};

  ~FWelvetWork() {
    loom_release(Generator);
    loom_release(Session);
    loom_release(Cancel);
    loom_release(Model);
  }
};

namespace {

FString TextOf(const char* Text, size_t Size) {
  const FUTF8ToTCHAR Converted(Text, static_cast<int32>(Size));
  return FString(Converted.Length(), Converted.Get());
}

FString TextOf(const char* Text) { return TextOf(Text, FCStringAnsi::Strlen(Text)); }

// Returns how many bytes at the end of a text begin a character that is not whole.
size_t UnfinishedBytes(const char* Text, size_t Size) {
  for (size_t Back = 1; Back <= 3 && Back <= Size; ++Back) {
    const unsigned char Byte = static_cast<unsigned char>(Text[Size - Back]);
    if ((Byte & 0xC0) == 0x80) continue;
    const size_t Whole = Byte >= 0xF0 ? 4 : Byte >= 0xE0 ? 3 : Byte >= 0xC0 ? 2 : 1;
    return Whole > Back ? Back : 0;
  }
  return 0;
}

// Writes an answer on a thread of the pool and hands every event to the game thread.
void Write(TWeakObjectPtr<UWelvetModel> Owner, TSharedPtr<FWelvetWork, ESPMode::ThreadSafe> Work) {
  TArray<char> Text;
  size_t Shown = 0;
  loom_step Step = {};
  Step.struct_size = sizeof Step;
  while (Step.stop == LOOM_STOP_NOT_YET) {
    const loom_status Status = loom_generator_next(Work->Generator, Work->Cancel, &Step);
    if (Status != LOOM_OK || Step.stop == LOOM_STOP_CANCELLED) {
      const FString Code = TextOf(loom_status_name(Status != LOOM_OK ? Status : LOOM_CANCELLED));
      const FString Words = Status != LOOM_OK ? TextOf(loom_last_error()) : FString(TEXT("the answer was stopped"));
      AsyncTask(ENamedThreads::GameThread, [Owner, Work, Code, Words] {
        Work->bBusy = false;
        if (UWelvetModel* Model = Owner.Get()) Model->OnFailed.Broadcast(Code, Words);
      });
      return;
    }
    if (Step.text_size > 0) Text.Append(Step.text, static_cast<int32>(Step.text_size));
    const size_t Size = static_cast<size_t>(Text.Num());
    const size_t Ready = Step.stop != LOOM_STOP_NOT_YET ? Size : Size - UnfinishedBytes(Text.GetData(), Size);
    if (Ready <= Shown) continue;
    const FString Piece = TextOf(Text.GetData() + Shown, Ready - Shown);
    Shown = Ready;
    AsyncTask(ENamedThreads::GameThread, [Owner, Piece] {
      if (UWelvetModel* Model = Owner.Get()) Model->OnToken.Broadcast(Piece);
    });
  }
  const FString Whole = TextOf(Text.GetData(), static_cast<size_t>(Text.Num()));
  AsyncTask(ENamedThreads::GameThread, [Owner, Work, Whole] {
    Work->bBusy = false;
    if (UWelvetModel* Model = Owner.Get()) Model->OnFinished.Broadcast(Whole);
  });
}

}  // namespace

bool UWelvetModel::Fail(int32 Status) {
  OnFailed.Broadcast(TextOf(loom_status_name(Status)), TextOf(loom_last_error()));
  return false;
}

bool UWelvetModel::IsBusy() const { return Work.IsValid() && Work->bBusy; }

bool UWelvetModel::Load(const FString& Path) {
  if (IsBusy()) {
    OnFailed.Broadcast(TEXT("Busy"), TEXT("an answer is being written: call Stop() and wait for OnFailed"));
    return false;
  }
  TSharedPtr<FWelvetWork, ESPMode::ThreadSafe> Loaded = MakeShared<FWelvetWork, ESPMode::ThreadSafe>();
  const FTCHARToUTF8 Name(*Path);
  loom_status Status = loom_model_open(Name.Get(), nullptr, &Loaded->Model);
  if (Status == LOOM_OK) Status = loom_cancel_create(&Loaded->Cancel);
  if (Status != LOOM_OK) return Fail(Status);
  Work = Loaded;
  return true;
}

bool UWelvetModel::Ask(const FString& Prompt, int32 MaxTokens) {
  if (!Work.IsValid() || IsBusy() || MaxTokens < 1) {
    const bool bLoaded = Work.IsValid();
    OnFailed.Broadcast(!bLoaded   ? TEXT("InvalidState")
                       : IsBusy() ? TEXT("Busy")
                                  : TEXT("InvalidArgument"),
                       !bLoaded   ? TEXT("no model is loaded: call Load() first")
                       : IsBusy() ? TEXT("an answer is being written: call Stop() and wait for OnFailed")
                                  : TEXT("MaxTokens must be at least 1"));
    return false;
  }
  loom_release(Work->Generator);
  loom_release(Work->Session);
  Work->Generator = Work->Session = 0;
  loom_generation_options Options = {};
  Options.struct_size = sizeof Options;
  Options.max_tokens = static_cast<uint64_t>(MaxTokens);
  const FTCHARToUTF8 Text(*Prompt);
  loom_status Status = loom_cancel_set(Work->Cancel, 0);
  if (Status == LOOM_OK) Status = loom_session_create(Work->Model, nullptr, &Work->Session);
  if (Status == LOOM_OK)
    Status = loom_generator_from_text(Work->Session, Text.Get(), static_cast<size_t>(Text.Length()), LOOM_PROMPT_AUTO,
                                      &Options, &Work->Generator);
  if (Status != LOOM_OK) return Fail(Status);
  Work->bBusy = true;
  Async(EAsyncExecution::ThreadPool,
        [Owner = TWeakObjectPtr<UWelvetModel>(this), Shared = Work] { Write(Owner, Shared); });
  return true;
}

void UWelvetModel::Stop() {
  if (IsBusy()) loom_cancel_set(Work->Cancel, 1);
}

void UWelvetModel::BeginDestroy() {
  Stop();
  Work.Reset();
  Super::BeginDestroy();
}
