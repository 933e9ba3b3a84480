using System;
using System.Collections.Generic;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Form of a text that a model reads.</summary>
    public enum PromptForm
    {
        /// <summary>Chat if the model has a chat template, else Raw.</summary>
        Auto = Abi.PromptAuto,

        /// <summary>The text is continued as it is.</summary>
        Raw = Abi.PromptRaw,

        /// <summary>The text is a message, which the chat template of the model writes.</summary>
        Chat = Abi.PromptChat,
    }

    /// <summary>How an answer is written. All properties have defaults.</summary>
    public sealed class GenerationOptions
    {
        /// <summary>Most tokens of the answer; null: 128; 0: the prompt is read and no token is drawn.</summary>
        public int? MaxTokens { get; set; }

        /// <summary>The answer does not end before this number of tokens.</summary>
        public int MinTokens { get; set; }

        /// <summary>Seed of the draws; equal seeds give equal texts.</summary>
        public ulong Seed { get; set; }

        /// <summary>0 takes the most likely token each time; above 0 tokens are drawn.</summary>
        public float Temperature { get; set; }

        /// <summary>Draws among this number of the most likely tokens; 0: among all.</summary>
        public int TopK { get; set; }

        /// <summary>Draws among the most likely tokens that together have this probability, above 0 to 1.</summary>
        public float TopP { get; set; } = 1;

        /// <summary>Draws among tokens with at least this part of the probability of the most likely one, 0 to
        /// 1.</summary>
        public float MinP { get; set; }

        /// <summary>Draws among the tokens of typical probability that together have this probability, above 0 to
        /// 1.</summary>
        public float TypicalP { get; set; } = 1;

        /// <summary>Above 1 makes the tokens of the last RepetitionWindow ones less likely.</summary>
        public float RepetitionPenalty { get; set; } = 1;

        /// <summary>Tokens that the three penalties look back on; -1: all.</summary>
        public int RepetitionWindow { get; set; } = 64;

        /// <summary>Subtracted from a token's logit for each time that it occurred in the window.</summary>
        public float FrequencyPenalty { get; set; }

        /// <summary>Subtracted from a token's logit if it occurred in the window.</summary>
        public float PresencePenalty { get; set; }

        /// <summary>True bans the tokens that end an answer.</summary>
        public bool IgnoreEos { get; set; }

        /// <summary>Texts that end the answer and are not part of it; null: none.</summary>
        public IReadOnlyList<string> Stop { get; set; }

        /// <summary>Token ids that end the answer, in addition to the model's own; null: none.</summary>
        public IReadOnlyList<int> StopIds { get; set; }

        /// <summary>Added to the logit of a token id before each draw; negative infinity bans it. Null:
        /// nothing.</summary>
        public IReadOnlyDictionary<int, float> LogitBias { get; set; }

        /// <summary>True drafts tokens that followed the same tokens before: the same answer in less time.</summary>
        public bool Speculate { get; set; }

        /// <summary>A smaller model with the same tokens that drafts instead; null: none.</summary>
        public LanguageModel DraftModel { get; set; }

        /// <summary>True reads control tokens in prompts and messages, as &lt;|im_end|&gt;, as ordinary text: for
        /// texts of strangers.</summary>
        public bool PlainText { get; set; }

        /// <summary>Name or text of another chat template; null: the model's default.</summary>
        public string ChatTemplate { get; set; }

        /// <summary>Functions that the chat template describes to the model, as a JSON list; null: none.</summary>
        public string Tools { get; set; }

        /// <summary>Variables that the chat template reads, as a JSON object; null: none.</summary>
        public string TemplateVariables { get; set; }

        /// <summary>Day for chat templates that write it; null: they write none.</summary>
        public DateTime? Date { get; set; }

        /// <summary>True continues the last message of a conversation instead of answering it.</summary>
        public bool ContinueFinalMessage { get; set; }

        /// <summary>Number of the best tokens of each draw that TextStream.Logprobs() lists; 0: none.</summary>
        public int Logprobs { get; set; }

        /// <summary>A copy with another number of tokens.</summary>
        internal GenerationOptions WithMaxTokens(int maxTokens)
        {
            GenerationOptions copy = (GenerationOptions)MemberwiseClone();
            copy.MaxTokens = maxTokens;
            return copy;
        }

        /// <summary>The options as C takes them, while `memory` lives.</summary>
        internal unsafe Interop.GenerationOptions ToInterop(Pinned memory)
        {
            Interop.GenerationOptions options = Interop.GenerationOptions.Create();
            int most = MaxTokens == null ? 128 : Native.InRange(MaxTokens.Value, 0, int.MaxValue, nameof(MaxTokens));
            options.MaxTokens = (ulong)most;
            options.PromptOnly = most == 0 ? 1 : 0;
            options.MinTokens = (ulong)Native.InRange(MinTokens, 0, int.MaxValue, nameof(MinTokens));
            options.Seed = Seed;
            options.Temperature = Temperature;
            options.TopK = TopK;
            options.TopP = NotZero(TopP, nameof(TopP));
            options.MinP = MinP;
            options.TypicalP = NotZero(TypicalP, nameof(TypicalP));
            options.RepetitionPenalty = NotZero(RepetitionPenalty, nameof(RepetitionPenalty));
            options.RepetitionWindow = (int)NotZero(RepetitionWindow, nameof(RepetitionWindow));
            options.FrequencyPenalty = FrequencyPenalty;
            options.PresencePenalty = PresencePenalty;
            options.IgnoreEos = IgnoreEos ? 1 : 0;
            options.Stop = memory.Texts(Stop, nameof(Stop));
            options.StopCount = (UIntPtr)(Stop?.Count ?? 0);
            options.StopIds = (int*)memory.Array(ToArray(StopIds));
            options.StopIdsCount = (UIntPtr)(StopIds?.Count ?? 0);
            SetBiases(ref options, memory);
            options.Speculate = Speculate || DraftModel != null ? 1 : 0;
            options.DraftModel = DraftModel?.Handle ?? 0;
            options.PlainText = PlainText ? 1 : 0;
            options.ContinueFinalMessage = ContinueFinalMessage ? 1 : 0;
            options.Logprobs = (uint)Native.InRange(Logprobs, 0, int.MaxValue, nameof(Logprobs));
            options.ChatTemplate = memory.Text(ChatTemplate, nameof(ChatTemplate));
            options.Tools = memory.Text(Tools, nameof(Tools));
            options.TemplateVariables = memory.Text(TemplateVariables, nameof(TemplateVariables));
            options.Date = memory.Text(Date?.ToString("yyyy-MM-dd", System.Globalization.CultureInfo.InvariantCulture),
                nameof(Date));
            return options;
        }

        private unsafe void SetBiases(ref Interop.GenerationOptions options, Pinned memory)
        {
            if (LogitBias == null) return;
            int[] ids = new int[LogitBias.Count];
            float[] biases = new float[ids.Length];
            int at = 0;
            foreach (KeyValuePair<int, float> bias in LogitBias)
            {
                ids[at] = bias.Key;
                biases[at++] = bias.Value;
            }
            options.BiasIds = (int*)memory.Array(ids);
            options.Biases = (float*)memory.Array(biases);
            options.BiasIdsCount = options.BiasesCount = (UIntPtr)ids.Length;
        }

        /// <summary>Refuses 0, which means the default in C.</summary>
        private static float NotZero(float value, string name)
        {
            if (value == 0) throw new ArgumentOutOfRangeException(name, value, name + " must not be 0");
            return value;
        }

        private static int[] ToArray(IReadOnlyList<int> values)
        {
            if (values == null) return null;
            int[] array = new int[values.Count];
            for (int i = 0; i < array.Length; ++i) array[i] = values[i];
            return array;
        }
    }
}
