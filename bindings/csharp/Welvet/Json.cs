using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Welvet
{
    /// <summary>JSON as dictionaries, lists, strings, long, double, bool and null.</summary>
    public static class Json
    {
        /// <summary>Reads a JSON text.</summary>
        /// <param name="text">The text.</param>
        /// <returns>A Dictionary of string and object, a List of object, a string, a long, a double, a bool or
        /// null.</returns>
        /// <exception cref="FormatException">The text is not JSON.</exception>
        public static object Parse(string text)
        {
            if (text == null) throw new ArgumentNullException(nameof(text));
            return new JsonReader(text).ReadAll();
        }

        /// <summary>Writes a value as JSON.</summary>
        /// <param name="value">Dictionaries with string keys, lists, arrays, texts, numbers, bool and null.</param>
        /// <returns>The JSON text.</returns>
        /// <exception cref="ArgumentException">A value has no form in JSON.</exception>
        public static string Write(object value)
        {
            StringBuilder text = new StringBuilder();
            Write(text, value);
            return text.ToString();
        }

        private static void Write(StringBuilder text, object value)
        {
            if (value == null) text.Append("null");
            else if (value is string s) WriteText(text, s);
            else if (value is bool b) text.Append(b ? "true" : "false");
            else if (value is float || value is double) WriteReal(text, ((IConvertible)value).ToDouble(null), value);
            else if (value is IDictionary map) WriteMap(text, map);
            else if (value is IEnumerable list) WriteList(text, list);
            else if (value is IConvertible number && value.GetType().IsPrimitive && !(value is char))
                text.Append(number.ToString(CultureInfo.InvariantCulture));
            else throw new ArgumentException("a " + value.GetType().Name + " has no form in JSON", nameof(value));
        }

        private static void WriteReal(StringBuilder text, double number, object value)
        {
            if (double.IsNaN(number) || double.IsInfinity(number))
                throw new ArgumentException(number + " has no form in JSON", nameof(value));
            string shortest = ((IFormattable)value).ToString("R", CultureInfo.InvariantCulture);
            bool isExact = value is float || double.Parse(shortest, CultureInfo.InvariantCulture).Equals(number);
            text.Append(isExact ? shortest : number.ToString("G17", CultureInfo.InvariantCulture));
        }

        private static void WriteMap(StringBuilder text, IDictionary map)
        {
            string before = "{";
            foreach (DictionaryEntry entry in map)
            {
                text.Append(before);
                WriteText(text, entry.Key as string ?? throw new ArgumentException("a key of JSON must be a string"));
                text.Append(':');
                Write(text, entry.Value);
                before = ",";
            }
            text.Append(before == "{" ? "{}" : "}");
        }

        private static void WriteList(StringBuilder text, IEnumerable list)
        {
            string before = "[";
            foreach (object item in list)
            {
                text.Append(before);
                Write(text, item);
                before = ",";
            }
            text.Append(before == "[" ? "[]" : "]");
        }

        private static void WriteText(StringBuilder text, string value)
        {
            text.Append('"');
            foreach (char c in value)
            {
                if (c == '"' || c == '\\') text.Append('\\').Append(c);
                else if (c < ' ') text.Append("\\u").Append(((int)c).ToString("x4"));
                else text.Append(c);
            }
            text.Append('"');
        }
    }

    /// <summary>Reads one JSON text.</summary>
    internal sealed class JsonReader
    {
        private const int Deepest = 200; // containers inside of each other
        private readonly string _text;
        private int _at;
        private int _depth;

        public JsonReader(string text)
        {
            _text = text;
        }

        public object ReadAll()
        {
            object value = Read();
            Skip();
            if (_at < _text.Length) throw Wrong("the end of the text");
            return value;
        }

        private FormatException Wrong(string expected)
        {
            string met = _at < _text.Length ? "'" + _text[_at] + "'" : "the end";
            return new FormatException("JSON, character " + _at + ": expected " + expected + ", got " + met);
        }

        private void Skip()
        {
            while (_at < _text.Length && " \t\r\n".IndexOf(_text[_at]) >= 0) ++_at;
        }

        private bool Take(char c)
        {
            Skip();
            if (_at >= _text.Length || _text[_at] != c) return false;
            ++_at;
            return true;
        }

        private bool TakeWord(string word)
        {
            if (string.CompareOrdinal(_text, _at, word, 0, word.Length) != 0) return false;
            _at += word.Length;
            return true;
        }

        private object Read()
        {
            Skip();
            if (_at >= _text.Length) throw Wrong("a value");
            switch (_text[_at])
            {
                case '{':
                case '[':
                    if (++_depth > Deepest) throw Wrong("at most " + Deepest + " containers inside of each other");
                    object container = _text[_at] == '{' ? (object)ReadMap() : ReadList();
                    --_depth;
                    return container;
                case '"':
                    return ReadText();
            }
            if (TakeWord("true")) return true;
            if (TakeWord("false")) return false;
            if (TakeWord("null")) return null;
            return ReadNumber();
        }

        private Dictionary<string, object> ReadMap()
        {
            ++_at;
            Dictionary<string, object> map = new Dictionary<string, object>();
            if (Take('}')) return map;
            do
            {
                Skip();
                if (_at >= _text.Length || _text[_at] != '"') throw Wrong("a key");
                string key = ReadText();
                if (!Take(':')) throw Wrong("':'");
                map[key] = Read();
            }
            while (Take(','));
            if (!Take('}')) throw Wrong("',' or '}'");
            return map;
        }

        private List<object> ReadList()
        {
            ++_at;
            List<object> list = new List<object>();
            if (Take(']')) return list;
            do list.Add(Read());
            while (Take(','));
            if (!Take(']')) throw Wrong("',' or ']'");
            return list;
        }

        private string ReadText()
        {
            StringBuilder text = new StringBuilder();
            for (++_at; _at < _text.Length && _text[_at] != '"'; ++_at)
            {
                if (_text[_at] != '\\')
                {
                    text.Append(_text[_at]);
                    continue;
                }
                if (++_at >= _text.Length) break;
                int place = "\"\\/bfnrt".IndexOf(_text[_at]);
                if (place >= 0) text.Append("\"\\/\b\f\n\r\t"[place]);
                else if (_text[_at] == 'u') text.Append(ReadCode());
                else throw Wrong("an escape");
            }
            if (_at >= _text.Length) throw Wrong("'\"'");
            ++_at;
            return text.ToString();
        }

        private char ReadCode()
        {
            if (_at + 4 >= _text.Length || !ushort.TryParse(_text.Substring(_at + 1, 4), NumberStyles.AllowHexSpecifier,
                    CultureInfo.InvariantCulture, out ushort code))
            {
                throw Wrong("4 hexadecimal digits");
            }
            _at += 4;
            return (char)code;
        }

        private object ReadNumber()
        {
            int start = _at;
            while (_at < _text.Length && "+-.eE0123456789".IndexOf(_text[_at]) >= 0) ++_at;
            string number = _text.Substring(start, _at - start);
            if (number.IndexOfAny(new[] { '.', 'e', 'E' }) < 0 &&
                long.TryParse(number, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long whole))
            {
                return whole;
            }
            if (double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out double real)) return real;
            _at = start;
            throw Wrong("a value");
        }
    }
}
