using System;
using System.Collections.Generic;

namespace Welvet
{
    /// <summary>A message of a conversation.</summary>
    public sealed class Message
    {
        /// <summary>Creates a message.</summary>
        /// <param name="role">"system", "user" or "assistant".</param>
        /// <param name="content">Its text.</param>
        public Message(string role, string content)
        {
            Role = role ?? throw new ArgumentNullException(nameof(role));
            Content = content ?? throw new ArgumentNullException(nameof(content));
        }

        /// <summary>"system", "user" or "assistant".</summary>
        public string Role { get; }

        /// <summary>Its text.</summary>
        public string Content { get; }

        /// <summary>Messages as a JSON list.</summary>
        internal static byte[] ToJson(IEnumerable<Message> messages)
        {
            if (messages == null) throw new ArgumentNullException(nameof(messages));
            List<Dictionary<string, string>> list = new List<Dictionary<string, string>>();
            foreach (Message message in messages)
            {
                if (message == null) throw new ArgumentException("a message is null", nameof(messages));
                list.Add(new Dictionary<string, string> { ["role"] = message.Role, ["content"] = message.Content });
            }
            return Native.Bytes(Json.Write(list), nameof(messages));
        }

        /// <summary>Messages of a JSON list.</summary>
        internal static IReadOnlyList<Message> FromJson(string json)
        {
            List<Message> messages = new List<Message>();
            foreach (object each in (List<object>)Json.Parse(json))
            {
                Dictionary<string, object> message = (Dictionary<string, object>)each;
                messages.Add(new Message((string)message["role"], message["content"] as string ?? ""));
            }
            return messages;
        }
    }
}
