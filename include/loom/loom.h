/* The C ABI of Loom. Made by tools/gen_bindings.py from api/loom.json.

   Every function returns a loom_status: LOOM_OK, or why it failed; loom_last_error() has the text for this thread.
   Handles are numbers and stand for reference-counted objects: loom_release() gives one back. Structs begin with
   their size, which the caller sets; set the rest to 0 for the defaults:
     loom_session_options options = {sizeof options};
   Texts are UTF-8. Strings and arrays that go in need to last during the call only. Callbacks come on the thread that
   made the call. Functions may be called from any thread; an object that another thread uses answers LOOM_BUSY,
   except those that are immutable (models, tokenizers, blobs). Callbacks must not throw or jump out, and they run with
   Loom's settings of the floating-point unit. A call that fails leaves its results as they were. */
#ifndef LOOM_LOOM_H
#define LOOM_LOOM_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(LOOM_BUILDS_THE_LIBRARY)
#define LOOM_API __declspec(dllexport)
#elif !defined(LOOM_STATIC)
#define LOOM_API __declspec(dllimport)
#else
#define LOOM_API
#endif
#elif defined(LOOM_BUILDS_THE_LIBRARY)
#define LOOM_API __attribute__((visibility("default")))
#else
#define LOOM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What every function returns: OK, or why it failed. loom_last_error() has the text. */
typedef int32_t loom_status;
#define LOOM_OK                 0 /* done */
#define LOOM_INVALID_ARGUMENT   1 /* an argument is outside what the function takes */
#define LOOM_INVALID_CONFIG     2 /* a configuration contradicts itself */
#define LOOM_SHAPE_MISMATCH     3 /* shapes that must fit do not */
#define LOOM_SIZE_OVERFLOW      4 /* a size is beyond what can be counted */
#define LOOM_OUT_OF_RANGE       5 /* a number is outside its range */
#define LOOM_INDEX_OUT_OF_RANGE 6 /* an index is outside of what it counts */
#define LOOM_NON_FINITE         7 /* a value is infinite or NaN */
#define LOOM_UNKNOWN_NAME       8 /* a name means nothing here */
#define LOOM_UNKNOWN_KEY        9 /* a key means nothing here */
#define LOOM_NOT_FOUND          10 /* there is no such file or part */
#define LOOM_IO_ERROR           11 /* the system refused to read or write */
#define LOOM_DISK_FULL          12 /* no room is left on the disk */
#define LOOM_CORRUPT_DATA       13 /* the content makes no sense */
#define LOOM_UNSUPPORTED        14 /* the content is known and not supported */
#define LOOM_OUT_OF_MEMORY      15 /* memory is not to be had */
#define LOOM_CONTEXT_FULL       16 /* the context of a session holds no more tokens */
#define LOOM_NO_TEMPLATE        17 /* the model brings no chat template */
#define LOOM_TEMPLATE_ERROR     18 /* a chat template failed */
#define LOOM_LIMIT_EXCEEDED     19 /* a limit that guards against hostile input was met */
#define LOOM_LINK_CYCLE         20 /* links lead in a circle */
#define LOOM_CANCELLED          21 /* the caller's cancel ended the call */
#define LOOM_EMPTY_TENSOR       22 /* a tensor has no values */
#define LOOM_FEEDBACK_LINK      23 /* a link leads backwards where none may */
#define LOOM_LINK_TO_EMPTY      24 /* a link leads to an empty cell */
#define LOOM_NESTING_TOO_DEEP   25 /* containers lie too deep in each other */
#define LOOM_INVALID_STATE      26 /* the object is not in the state that the call needs */
#define LOOM_NO_VALUE           27 /* there is no value so far */
#define LOOM_NO_HISTORY         28 /* there is no history so far */
#define LOOM_LOSSY_SAVE         29 /* the format cannot hold the values exactly */
#define LOOM_BUSY               30 /* another thread uses the object, or this call was made from a callback of it */
#define LOOM_BAD_HANDLE         31 /* the handle is none, was released, or is of another kind */

/* What a handle stands for. */
typedef int32_t loom_kind;
#define LOOM_KIND_NONE      0
#define LOOM_KIND_BLOB      1
#define LOOM_KIND_CANCEL    2
#define LOOM_KIND_THREADS   3
#define LOOM_KIND_TOKENIZER 4
#define LOOM_KIND_MODEL     5
#define LOOM_KIND_SESSION   6
#define LOOM_KIND_GENERATOR 7

/* How a text becomes a prompt. */
typedef int32_t loom_prompt_form;
#define LOOM_PROMPT_AUTO 0 /* a question for a model with a chat template, a text to continue for the others */
#define LOOM_PROMPT_RAW  1 /* the text is continued as it is */
#define LOOM_PROMPT_CHAT 2 /* the text is a question; NO_TEMPLATE when the model brings no template */

/* Why a generation ended. */
typedef int32_t loom_stop;
#define LOOM_STOP_NOT_YET   0 /* it goes on */
#define LOOM_STOP_EOS       1 /* an end-of-sequence token */
#define LOOM_STOP_TEXT      2 /* a stop string */
#define LOOM_STOP_LENGTH    3 /* max_tokens */
#define LOOM_STOP_CONTEXT   4 /* the context is full */
#define LOOM_STOP_CANCELLED 5 /* the caller's cancel */

/* Any of the handles below. 0 stands for none. */
typedef uint64_t loom_handle;
/* Bytes that a function returns: a text, ids, a snapshot. */
typedef loom_handle loom_blob;
/* A flag that ends one long call from another thread. */
typedef loom_handle loom_cancel;
/* Workers that any number of sessions share. */
typedef loom_handle loom_threads;
/* Text to token ids and back. Immutable. */
typedef loom_handle loom_tokenizer;
/* A language model: weights, tokenizer, chat template. Immutable. */
typedef loom_handle loom_model;
/* Sequences of tokens with their keys and values, over one model. */
typedef loom_handle loom_session;
/* One generation, step by step, over one session. */
typedef loom_handle loom_generator;

/* Called on the thread of the caller, with the part that is done, from 0 to 1. Returning 0 cancels the call. */
typedef int32_t (*loom_on_progress)(void* user, double fraction);
/* What a host's worker calls. */
typedef void (*loom_work)(void* job, int32_t worker);
/* Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns when all have
   returned. */
typedef void (*loom_run_work)(void* user, loom_work work, void* job, int32_t workers);

/* Fields that are 0 mean the default. */
typedef struct loom_model_options {
  uint32_t struct_size; /* sizeof(loom_model_options), set by the caller */
  loom_threads threads; /* workers for loading; 0: one per physical core */
  loom_cancel cancel; /* ends the call with CANCELLED */
  loom_on_progress progress; /* NULL: none */
  void* user; /* first argument of progress */
  const char* dtype; /* quantises the matrices on load to this type, by name; NULL: as stored */
  const char* const* adapters; /* folders of PEFT adapters */
  size_t adapters_count;
} loom_model_options;

/* Fields that are 0 mean the default. */
typedef struct loom_session_options {
  uint32_t struct_size; /* sizeof(loom_session_options), set by the caller */
  loom_threads threads; /* shared workers; 0: workers of its own */
  int32_t thread_count; /* of its own workers; 0: one per physical core */
  uint32_t sequences; /* how many sequences it holds at once; 0: one */
  uint64_t context_tokens; /* longest sequence; 0: what the model was trained for, at most 4096 */
  const char* kv_dtype; /* of keys and values: float32 (the default), bfloat16, int8 */
  int32_t int8_activations; /* activations in 8 bits instead of 16: faster, a little less exact */
  const char* isa; /* an instruction set by name, to compare; NULL: the best one */
} loom_session_options;

/* Fields that are 0 mean the default: 128 tokens, the most likely token each time. */
typedef struct loom_generation_options {
  uint32_t struct_size; /* sizeof(loom_generation_options), set by the caller */
  uint64_t max_tokens; /* 0: 128 */
  uint64_t min_tokens; /* end-of-sequence tokens are banned before */
  uint64_t seed; /* of the draws: equal seeds give equal texts */
  float temperature; /* 0: the most likely token */
  float top_p; /* 0 or 1: off; a small number keeps the best token alone */
  float min_p; /* 0: off */
  float typical_p; /* 0 or 1: off */
  float repetition_penalty; /* 0 or 1: off */
  float frequency_penalty; /* 0: off */
  float presence_penalty; /* 0: off */
  int32_t top_k; /* 0: off */
  int32_t repetition_window; /* tokens that the penalties look back on; 0: 64, -1: all */
  int32_t ignore_eos; /* end-of-sequence tokens are banned throughout */
  const char* const* stop; /* the text ends before the first of them */
  size_t stop_count;
} loom_generation_options;

/* What one call of loom_generator_next() did. */
typedef struct loom_step {
  uint32_t struct_size; /* sizeof(loom_step), set by the caller */
  /* text that can no longer change, behind what came before; may be empty; lasts until the next call with the
     generator */
  const char* text;
  size_t text_size;
  uint64_t prompt_tokens; /* of the prompt read so far */
  uint64_t generated_tokens; /* drawn so far */
  loom_stop stop; /* STOP_NOT_YET: call again */
} loom_step;

/* A generation so far, or whole. Pointers last until the next call with the generator. */
typedef struct loom_generation {
  uint32_t struct_size; /* sizeof(loom_generation), set by the caller */
  /* without stop text and end-of-sequence token; bytes, which a model may leave without a UTF-8 end */
  const char* text;
  size_t text_size;
  const int32_t* ids; /* drawn tokens, the end-of-sequence token not included */
  size_t ids_count;
  uint64_t prompt_tokens;
  uint64_t dropped_bytes; /* of the prompt's text that have no token in the vocabulary */
  double prefill_seconds; /* spent on reading the prompt */
  double decode_seconds; /* spent on drawing */
  loom_stop stop;
  uint8_t hash[32]; /* SHA-256 of the ids and the bits of the last logits; zero before the end */
} loom_generation;

/* ---- library ---- */
/* Versions and errors. */

/* Returns the version, "0.1.0". */
LOOM_API const char* loom_version(void);

/* Returns the text of the last call on this thread that failed, one line; empty before any. It lasts until the next
   one fails. */
LOOM_API const char* loom_last_error(void);

/* Returns the name of a status, "Busy"; "Unknown" for a number that is none. */
LOOM_API const char* loom_status_name(int32_t status);

/* Gives the version of the arithmetic: results of equal versions have equal bits. */
LOOM_API loom_status loom_numerics_version(uint32_t* version);

/* Gives a JSON object: version, CPU, instruction sets, cores. */
LOOM_API loom_status loom_system_info(loom_blob* info);

/* Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
   Takes seconds. (isa: an instruction set by name; NULL: the best one; threads: 0: one per physical core) */
LOOM_API loom_status loom_verify(const char* isa, int32_t threads, loom_blob* digest);

/* ---- handles ---- */
/* Handles are numbers, not pointers: a wrong or released one is BAD_HANDLE, never a crash. Objects that others were
   made from stay alive as long as these. */

/* Counts one more owner. */
LOOM_API loom_status loom_retain(loom_handle handle);

/* Counts one owner less; the last one ends the object, at once or when the calls that use it have returned. 0 is
   ignored. */
LOOM_API loom_status loom_release(loom_handle handle);

/* Gives what the handle stands for. */
LOOM_API loom_status loom_kind_of(loom_handle handle, loom_kind* kind);

/* Gives the bytes of a blob; they last until it is released. A text ends with a NUL that the size does not count. */
LOOM_API loom_status loom_blob_view(loom_blob blob, const void** data, size_t* data_size);

/* Makes a flag that is not set. */
LOOM_API loom_status loom_cancel_create(loom_cancel* cancel);

/* Sets or clears the flag, from any thread. */
LOOM_API loom_status loom_cancel_set(loom_cancel cancel, int32_t set);

/* Starts workers. Sessions that use them at the same time take turns; no result depends on it. (count: the caller's
   thread included; 0: one per physical core) */
LOOM_API loom_status loom_threads_create(int32_t count, loom_threads* threads);

/* Uses the host's own workers. (count: at least 1) */
LOOM_API loom_status loom_threads_from_host(int32_t count, loom_run_work run, void* user, loom_threads* threads);

/* ---- tokenizers ---- */

/* Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json. */
LOOM_API loom_status loom_tokenizer_open(const char* path, loom_tokenizer* tokenizer);

/* Reads a tokenizer.json from memory. */
LOOM_API loom_status loom_tokenizer_from_json(const void* json, size_t json_size, loom_tokenizer* tokenizer);

/* Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a text;
   parse_special: a marker in the text is the marker; 0: it is ordinary text) */
LOOM_API loom_status loom_tokenizer_encode(loom_tokenizer tokenizer, const void* text, size_t text_size,
    int32_t add_special_tokens, int32_t parse_special, loom_blob* ids);

/* Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add nothing. */
LOOM_API loom_status loom_tokenizer_decode(loom_tokenizer tokenizer, const int32_t* ids, size_t ids_count,
    int32_t skip_special_tokens, loom_blob* text);

/* Gives one more than the greatest id. */
LOOM_API loom_status loom_tokenizer_vocab_size(loom_tokenizer tokenizer, uint64_t* size);

/* Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has none. */
LOOM_API loom_status loom_tokenizer_id(loom_tokenizer tokenizer, const void* text, size_t text_size, int32_t* id);

/* Gives the text of one id as the vocabulary spells it; empty for an unknown id. */
LOOM_API loom_status loom_tokenizer_token(loom_tokenizer tokenizer, int32_t id, loom_blob* text);

/* ---- models ---- */

/* Loads a language model: a GGUF file, a Hugging Face folder or an .entity. */
LOOM_API loom_status loom_model_open(const char* path, const loom_model_options* options, loom_model* model);

/* Gives a JSON object: path, format, sizes, context, special tokens, what is missing. */
LOOM_API loom_status loom_model_info(loom_model model, loom_blob* info);

/* Gives the model's tokenizer; NOT_FOUND, or why it cannot be read. */
LOOM_API loom_status loom_model_tokenizer(loom_model model, loom_tokenizer* tokenizer);

/* Writes messages as the model's chat template has them: a JSON list of objects with role and content. */
LOOM_API loom_status loom_model_render_chat(loom_model model, const void* messages, size_t messages_size,
    int32_t add_generation_prompt, loom_blob* text);

/* ---- sessions ---- */
/* Feeding a prompt whole, in parts, alone or beside other sequences gives the same bits. */

/* Makes a session with empty sequences. */
LOOM_API loom_status loom_session_create(loom_model model, const loom_session_options* options,
    loom_session* session);

/* Appends ids to a sequence and gives the logits that follow the last one; they last until the next call with the
   session. A call that fails leaves the sequence as it was. */
LOOM_API loom_status loom_session_feed(loom_session session, uint64_t sequence, const int32_t* ids,
    size_t ids_count, loom_cancel cancel, const float** logits, size_t* logits_count);

/* Gives the tokens of a sequence; they last until the next call with the session. */
LOOM_API loom_status loom_session_tokens(loom_session session, uint64_t sequence, const int32_t** ids,
    size_t* ids_count);

/* Drops what follows the first length tokens of a sequence. */
LOOM_API loom_status loom_session_rewind(loom_session session, uint64_t sequence, uint64_t length);

/* Copies a sequence onto another. */
LOOM_API loom_status loom_session_fork(loom_session session, uint64_t from, uint64_t to);

/* Gives tokens, keys and values of a sequence as bytes. */
LOOM_API loom_status loom_session_snapshot(loom_session session, uint64_t sequence, loom_blob* bytes);

/* Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model. */
LOOM_API loom_status loom_session_restore(loom_session session, uint64_t sequence, const void* bytes,
    size_t bytes_size);

/* Gives a JSON object: instruction set, threads, context, sequences, memory. */
LOOM_API loom_status loom_session_info(loom_session session, loom_blob* info);

/* ---- generation ---- */
/* A generator keeps its session alive and works in its first sequence. Other sequences may be used between two
   steps; a first sequence that others have changed ends the generation with INVALID_STATE. The last token that was
   drawn is in the text and not in the session. */

/* Prepares a generation behind what the sequence holds and the given ids. Nothing is read yet. */
LOOM_API loom_status loom_generator_create(loom_session session, const int32_t* prompt, size_t prompt_count,
    const loom_generation_options* options, loom_generator* generator);

/* The same of a text. */
LOOM_API loom_status loom_generator_from_text(loom_session session, const void* text, size_t text_size,
    loom_prompt_form form, const loom_generation_options* options, loom_generator* generator);

/* Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled. At
   the end it does nothing. */
LOOM_API loom_status loom_generator_next(loom_generator generator, loom_cancel cancel, loom_step* step);

/* Gives the generation so far. */
LOOM_API loom_status loom_generator_result(loom_generator generator, loom_generation* result);

#ifdef __cplusplus
}
#endif

#endif
