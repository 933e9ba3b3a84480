using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Welvet;

public static class TestLanguage
{
    private const string Question = "What is the capital of France?";
    private const string Answer = "The capital of France is Paris.";
    private const string Hash = "99554f0dd10b063f3823862f0bd1ad96c7eb36c459042190987e614657b8bb7b";

    public static void AnswerAndHashAreThoseOfTheReadme()
    {
        using (LanguageModel model = new LanguageModel(Runner.Model))
        {
            Generation answer = model.Generate(Question);
            Expect.Equal(Answer, answer.Text);
            Expect.Equal(Hash, answer.Hash);
            Expect.Equal("eos", answer.StopReason);
            Expect.Equal(Answer, answer.ToString());
            Expect.True(answer.PromptTokens > 0 && answer.DecodeTime > TimeSpan.Zero, "counts and times");
        }
    }

    public static void TransformerRunsTheSnippetOfTheSpecification()
    {
        string cache = Path.Combine(Path.GetTempPath(), "welvet_" + Guid.NewGuid().ToString("N"));
        string folder = Path.Combine(cache, "models--HuggingFaceTB--SmolLM2-360M-Instruct", "snapshots", "abc");
        Directory.CreateDirectory(folder);
        File.Copy(Runner.Model, Path.Combine(folder, "model.gguf"));
        Environment.SetEnvironmentVariable("HF_HUB_CACHE", cache);
        try
        {
            Tokenizer tokenizer = Transformer.LoadTokenizer("HuggingFaceTB/SmolLM2-360M-Instruct");
            Expect.Equal("Paris", tokenizer.Decode(tokenizer.Encode("Paris")));
            LanguageModel before = Transformer.LoadModel("HuggingFaceTB/SmolLM2-360M-Instruct");
            TextStream running = Transformer.GenerateStream("In a galaxy far away", 5);
            Expect.True(running.MoveNext(), "a piece");
            Transformer.LoadModel("HuggingFaceTB/SmolLM2-360M-Instruct");
            Expect.True(before.IsDisposed, "a model that the next one replaced");
            Expect.Equal(5, running.Finish().Ids.Count);
            var result = Transformer.Generate("In a galaxy far away", maxTokens: 5);
            Expect.Equal(5, result.Ids.Count);
            string text = "";
            foreach (var token in Transformer.GenerateStream("In a galaxy far away", 5)) { text += token; }
            Expect.Equal(result.Text, text);
            LoomException e = Expect.Fails("NotFound", () => Transformer.LoadModel("Nobody/Nothing"));
            Expect.True(e.Text.EndsWith("to fetch it: hf download Nobody/Nothing"), "the command that fetches it");
        }
        finally
        {
            Directory.Delete(cache, true);
        }
    }

    public static void PiecesOfAStreamMakeTheAnswer()
    {
        using (LanguageModel model = new LanguageModel(Runner.Model, new LanguageModelOptions { Threads = 2 }))
        {
            List<string> pieces = new List<string>();
            using (TextStream stream = model.Stream(Question))
            {
                foreach (string piece in stream) pieces.Add(piece);
                Expect.Equal(Hash, stream.Result.Hash);
                Expect.True(!stream.MoveNext(), "no more pieces");
            }
            Expect.True(pieces.Count > 3, "several pieces");
            using (TextStream stream = model.Stream(Question))
            {
                Expect.Fails("InvalidState", () => stream.Receipt());
                stream.Finish();
                Expect.True(stream.Receipt().Contains(Hash), "a receipt with the hash");
            }
            Expect.Equal(Answer, string.Concat(pieces));
            TextStream left = model.Stream(Question);
            foreach (string piece in left) break;
            Expect.True(left.IsDisposed && Answer.StartsWith(left.Result.Text), "an answer so far after break");
            using (TextStream stream = model.Stream(Question))
            {
                string text = "";
                for (string piece; (piece = stream.NextAsync().Result) != null;) text += piece;
                Expect.Equal(Answer, text);
            }
            Expect.Equal(Hash, model.GenerateAsync(Question).Result.Hash);
        }
    }

#if NETCOREAPP3_0_OR_GREATER
    public static void AsynchronousStreamsGiveTheSamePieces()
    {
        using (LanguageModel model = new LanguageModel(Runner.Model))
        {
            string text = "";
            IAsyncEnumerable<string> stream = model.Stream(Question);
            IAsyncEnumerator<string> pieces = stream.GetAsyncEnumerator();
            while (pieces.MoveNextAsync().AsTask().Result) text += pieces.Current;
            pieces.DisposeAsync().AsTask().Wait();
            Expect.Equal(Answer, text);
            CancellationTokenSource source = new CancellationTokenSource();
            IAsyncEnumerator<string> others = ((IAsyncEnumerable<string>)model.Stream(Question))
                .GetAsyncEnumerator(source.Token);
            Expect.True(others.MoveNextAsync().AsTask().Result, "a piece");
            source.Cancel();
            AggregateException e = Expect.Throws<AggregateException>(() => others.MoveNextAsync().AsTask().Wait());
            Expect.True(e.InnerException is OperationCanceledException, "a cancelled stream");
            others.DisposeAsync().AsTask().Wait();
        }
    }
#endif

    public static void OptionsReachTheLibrary()
    {
        using (LanguageModel model = new LanguageModel(Runner.Model))
        {
            GenerationOptions drawn = new GenerationOptions { Temperature = 1, Seed = 7, MaxTokens = 8, TopP = 0.9f };
            Generation first = model.Generate("Once upon a time", drawn, PromptForm.Raw);
            Expect.Equal(first.Hash, model.Generate("Once upon a time", drawn, PromptForm.Raw).Hash);
            drawn.Seed = 8;
            Expect.True(first.Text != model.Generate("Once upon a time", drawn, PromptForm.Raw).Text, "another text");
            Expect.Equal("The capital", model.Generate(Question,
                new GenerationOptions { Stop = new[] { " of" } }).Text);
            int paris = model.Tokenizer.Encode(" Paris")[0];
            Generation biased = model.Generate(Question, new GenerationOptions
            {
                LogitBias = new Dictionary<int, float> { [paris] = float.NegativeInfinity }, MaxTokens = 8,
            });
            Expect.True(!biased.Ids.Contains(paris), "no banned token");
            Expect.Equal(0, model.Generate(Question, new GenerationOptions { MaxTokens = 0 }).Ids.Count);
            Expect.Equal(Hash, model.Generate(Question, new GenerationOptions { Speculate = true }).Hash);
            Expect.Equal(Hash, model.Generate(new[] { new Message("user", Question) }).Hash);
            using (LanguageSession session = model.Session())
            {
                Message[] messages = { new Message("user", Question), new Message("assistant", "The capital of") };
                GenerationOptions rest = new GenerationOptions { ContinueFinalMessage = true, Logprobs = 2 };
                using (TextStream stream = session.Stream(messages, rest))
                {
                    Expect.Equal(" France is Paris.", stream.Finish().Text);
                    List<object> tokens = (List<object>)Json.Parse(stream.Logprobs());
                    Dictionary<string, object> token = (Dictionary<string, object>)tokens[0];
                    Expect.Equal((long)stream.Result.Ids[0], token["id"]);
                    Expect.Equal(2, ((List<object>)token["top"]).Count);
                }
            }
            Expect.Throws<ArgumentOutOfRangeException>(
                () => model.Generate(Question, new GenerationOptions { TopP = 0 }));
            Expect.Fails("InvalidArgument", () => model.Generate(Question, new GenerationOptions { MinP = 2 }));
            Expect.Throws<ArgumentException>(
                () => model.Generate(Question, new GenerationOptions { Stop = new[] { "a\0b" } }));
            Expect.Throws<ArgumentNullException>(() => model.Generate((string)null));
        }
    }

    public static void ChatsRememberAndAreSaved()
    {
        string path = Path.Combine(Path.GetTempPath(), "welvet_" + Guid.NewGuid().ToString("N") + ".chat");
        using (LanguageModel model = new LanguageModel(Runner.Model))
        using (Chat chat = model.Chat("You are brief.", new GenerationOptions { MaxTokens = 12 }))
        {
            string answer = chat.Say("My name is Ada.").Text;
            Expect.Equal("system user assistant", string.Join(" ", chat.Messages.Select(m => m.Role)));
            Expect.Equal(answer, chat.Messages[2].Content);
            Expect.True(chat.Receipt().Contains("\"hash\""), "a receipt");
            chat.Save(path);
            foreach (string piece in chat.Stream("Tell me a story.")) break;
            Expect.Equal(5, chat.Messages.Count);
            chat.Rewind(3);
            string second = chat.Say("What is my name?").Text;
            using (Chat again = model.Chat(options: new GenerationOptions { MaxTokens = 12 }))
            {
                again.Load(path);
                Expect.Equal(second, again.Say("What is my name?").Text);
                again.Messages = new[] { new Message("user", "Hi \"you\"\n\u00e9\U0001F600") };
                Expect.Equal("Hi \"you\"\n\u00e9\U0001F600", again.Messages[0].Content);
                again.Edit(0, "Hello");
                Expect.Equal("Hello", again.Messages[0].Content);
            }
            File.Delete(path);
        }
    }

    public static void SessionsReadTokensOnce()
    {
        using (LanguageModel model = new LanguageModel(Runner.Model))
        using (LanguageSession session = model.Session(new LanguageSessionOptions { Sequences = 2, Context = 64 }))
        {
            int[] ids = model.Tokenizer.Encode("The capital of France is");
            float[] logits = session.Feed(ids);
            Expect.Equal(model.Tokenizer.Count, logits.Length);
            Expect.Equal(" Paris", model.Tokenizer.Decode(new[] { Array.IndexOf(logits, logits.Max()) }));
            session.Fork(0, 1);
            byte[] snapshot = session.Snapshot();
            session.Rewind(0);
            Expect.Equal(0, session.Tokens().Length);
            Expect.Equal(string.Join(" ", ids), string.Join(" ", session.Tokens(1)));
            session.Restore(snapshot);
            Expect.Equal(ids.Length, session.Tokens().Length);
            Expect.Fails("ContextFull", () => session.Feed(new int[100]));
            Expect.Equal(64L, session.Info["context_tokens"]);
        }
    }

    public static void TokenizersReadTextsOfAnyScript()
    {
        using (Tokenizer tokenizer = new Tokenizer(Runner.Model))
        {
            string text = "na\u00efve \u4f60\u597d \U0001F600 <|im_end|>";
            Expect.Equal(text, tokenizer.Decode(tokenizer.Encode(text, parseSpecial: false)));
            int? end = tokenizer.IdOf("<|im_end|>");
            Expect.True(end != null && tokenizer.Token(end.Value) == "<|im_end|>", "a control token");
            Expect.True(tokenizer.IdOf("no such token at all") == null, "no token");
            Expect.Equal(0, tokenizer.Encode("").Length);
        }
    }

    public static void EncodersGiveAVectorPerText()
    {
        string folder = Path.Combine(Environment.GetEnvironmentVariable("LOOM_DATA"), "minilm");
        using (Encoder encoder = new Encoder(folder))
        {
            Tensor vectors = encoder.Embed(new[] { "It rains.", "The sun shines." });
            Expect.Equal("2, 384", string.Join(", ", vectors.Shape));
            float[] alone = encoder.Embed("The sun shines.");
            for (int i = 0; i < alone.Length; ++i) Expect.Equal(alone[i], vectors[1, i]);
            Expect.Equal(384L, encoder.Info["dimensions"]);
        }
    }
}
