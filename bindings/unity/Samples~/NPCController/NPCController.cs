using System;
using System.Collections.Concurrent;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;
using Welvet;

/// <summary>A character that answers the player. The model is loaded and asked on a thread of the pool, so that no
/// frame waits for it; pieces of the answer arrive in Update().</summary>
public sealed class NPCController : MonoBehaviour
{
    [SerializeField] private string model = "HuggingFaceTB/SmolLM2-360M-Instruct";
    [SerializeField] private string character = "You are a wise wizard. Answer in one sentence.";
    [SerializeField] private int maxTokens = 50;

    private readonly ConcurrentQueue<string> _pieces = new ConcurrentQueue<string>();
    private readonly CancellationTokenSource _end = new CancellationTokenSource();
    private Task<Chat> _chat;
    private Task _talk = Task.CompletedTask;

    /// <summary>Raised in Update() with each piece of an answer.</summary>
    public event Action<string> Piece;

    /// <summary>True while an answer is being written.</summary>
    public bool IsTalking => !_talk.IsCompleted || !_pieces.IsEmpty;

    /// <summary>Chooses another model before Start().</summary>
    /// <param name="path">Path or hub id.</param>
    public void UseModel(string path)
    {
        model = path;
    }

    private void Start()
    {
        _chat = Task.Run(() =>
        {
            using (LanguageModel loaded = new LanguageModel(model, null, _end.Token))
                return loaded.Chat(character, new GenerationOptions { MaxTokens = maxTokens });
        });
    }

    /// <summary>Begins an answer. Its pieces arrive in Update().</summary>
    /// <param name="playerInput">The words of the player.</param>
    public void Talk(string playerInput)
    {
        _talk = Answer(_talk, playerInput);
    }

    private async Task Answer(Task before, string playerInput)
    {
        try
        {
            await before;
            Chat chat = await _chat;
            await Task.Run(() =>
            {
                foreach (string piece in chat.Stream(playerInput, _end.Token)) _pieces.Enqueue(piece);
            });
        }
        catch (OperationCanceledException)
        {
            // The object was destroyed.
        }
        catch (LoomException e)
        {
            Debug.LogError(e.Message);
        }
    }

    private void Update()
    {
        while (_pieces.TryDequeue(out string piece)) Piece?.Invoke(piece);
    }

    private void OnDestroy()
    {
        _end.Cancel();
        _chat?.ContinueWith(loaded => loaded.Result.Dispose(), TaskContinuationOptions.OnlyOnRanToCompletion);
    }
}
