// A language model for Blueprints and C++. Not run in Unreal: compiled and run with stubs of its headers.
#pragma once

#include "CoreMinimal.h"
#include "Templates/SharedPointer.h"
#include "UObject/Object.h"

#include "WelvetModel.generated.h"

DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FWelvetText, const FString&, Text);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FWelvetError, const FString&, Code, const FString&, Text);

struct FWelvetWork;

// Answers questions on a thread of the pool; its events come on the game thread.
UCLASS(BlueprintType)
class WELVET_API UWelvetModel : public UObject {
  GENERATED_BODY()

 public:
  // A piece of the answer.
  UPROPERTY(BlueprintAssignable, Category = "Welvet")
  FWelvetText OnToken;

  // The whole answer, after its last piece.
  UPROPERTY(BlueprintAssignable, Category = "Welvet")
  FWelvetText OnFinished;

  // Name and text of the error that ended a Load() or an answer; "Cancelled" after Stop().
  UPROPERTY(BlueprintAssignable, Category = "Welvet")
  FWelvetError OnFailed;

  // Loads a model in place of the one before: a GGUF file, a Hugging Face folder or an .entity. The game thread waits.
  // Returns false after OnFailed, also while an answer is being written.
  UFUNCTION(BlueprintCallable, Category = "Welvet")
  bool Load(const FString& Path);

  // Begins an answer of at most MaxTokens tokens. Returns false after OnFailed: no model is loaded, an answer is being
  // written, or the prompt does not fit.
  UFUNCTION(BlueprintCallable, Category = "Welvet")
  bool Ask(const FString& Prompt, int32 MaxTokens = 128);

  // Ends the answer that is being written.
  UFUNCTION(BlueprintCallable, Category = "Welvet")
  void Stop();

  // True from Ask() to OnFinished or OnFailed.
  UFUNCTION(BlueprintPure, Category = "Welvet")
  bool IsBusy() const;

  virtual void BeginDestroy() override;

 private:
  bool Fail(int32 Status);

  TSharedPtr<FWelvetWork, ESPMode::ThreadSafe> Work;
};
