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
#define LOOM_KIND_NONE            0
#define LOOM_KIND_BLOB            1
#define LOOM_KIND_CANCEL          2
#define LOOM_KIND_THREADS         3
#define LOOM_KIND_TOKENIZER       4
#define LOOM_KIND_MODEL           5
#define LOOM_KIND_SESSION         6
#define LOOM_KIND_GENERATOR       7
#define LOOM_KIND_NETWORK         8
#define LOOM_KIND_NETWORK_SESSION 9
#define LOOM_KIND_TRAINER         10

/* How a network becomes bytes. */
typedef int32_t loom_network_format;
#define LOOM_FORMAT_ENTITY 0 /* the binary format: every weight as it is */
#define LOOM_FORMAT_JSON   1 /* a JSON checkpoint: the spec, and packed weights in Base64 */

/* How much a message matters. */
typedef int32_t loom_log_level;
#define LOOM_LOG_ERROR 1 /* a call failed */
#define LOOM_LOG_INFO  3

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
/* A grid of layers with their weights. Calls that change it answer BUSY while another thread runs it, and the other
   way round. */
typedef loom_handle loom_network;
/* One user of a network: activations, gradients, states. Several may run one network at the same time. */
typedef loom_handle loom_network_session;
/* A network that learns, step by step. */
typedef loom_handle loom_trainer;

/* Called on the thread of the caller, with the part that is done, from 0 to 1. Returning 0 cancels the call. */
typedef int32_t (*loom_on_progress)(void* user, double fraction);
/* What a host's worker calls. */
typedef void (*loom_work)(void* job, int32_t worker);
/* Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns when all have
   returned. */
typedef void (*loom_run_work)(void* user, loom_work work, void* job, int32_t workers);
/* Takes one line. */
typedef void (*loom_on_log)(void* user, loom_log_level level, const char* text);
/* Gives so many bytes at a multiple of `alignment`, a power of two; NULL: there are none, and the call that asked is
   OUT_OF_MEMORY. May come from any thread that calls. */
typedef void* (*loom_allocate_memory)(void* user, size_t bytes, size_t alignment);
/* Takes back what allocate_memory gave. */
typedef void (*loom_free_memory)(void* user, void* memory, size_t bytes);
/* Called when the library finds itself broken; the process ends when it returns. */
typedef void (*loom_on_fatal)(void* user, const char* text);

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

/* Fields that are 0 mean the default. */
typedef struct loom_network_options {
  uint32_t struct_size; /* sizeof(loom_network_options), set by the caller */
  int32_t lenient; /* unknown keys are warnings, not errors; loom_network_info() lists them */
  int32_t uninitialised; /* weights that the source does not bring stay without values */
  uint64_t max_bytes; /* of memory for weights that are drawn: OUT_OF_MEMORY beyond; 0: no limit */
} loom_network_options;

/* Fields that are 0 mean the default. */
typedef struct loom_network_session_options {
  uint32_t struct_size; /* sizeof(loom_network_session_options), set by the caller */
  loom_threads threads; /* shared workers; 0: workers of its own */
  int32_t thread_count; /* of its own workers; 0: one per physical core */
  int32_t backward; /* a forward keeps what loom_network_session_backward() needs */
  const char* isa; /* an instruction set by name, to compare; NULL: the best one */
  uint64_t max_bytes; /* of activations: a call that needs more is OUT_OF_MEMORY; 0: no limit */
  /* above 0: attention and recurrent layers go on from call to call, as one sequence per sample of up to so many
     positions; not with backward */
  uint64_t context;
  const char* kv_dtype; /* of kept keys and values: float32 (the default), bfloat16, int8 */
  /* above 0: a forward keeps the inputs of every so many cells alone, and backward computes the rest anew */
  uint64_t checkpoint_every;
} loom_network_session_options;

/* What a forward takes beside its input. Fields that are 0 mean none. */
typedef struct loom_pass {
  uint32_t struct_size; /* sizeof(loom_pass), set by the caller */
  int32_t training; /* dropout, batch statistics */
  uint32_t step; /* of the random streams of dropout */
  const uint64_t* lengths; /* of a ragged batch: valid steps of each sample, the first ones */
  size_t lengths_count;
  /* input of the layers that read an external one; it lasts until the backward pass */
  const float* external;
  size_t external_count;
  const uint64_t* external_shape;
  size_t external_shape_count;
  const float* mask; /* of attention; it lasts until the backward pass */
  size_t mask_count;
  const uint64_t* mask_shape;
  size_t mask_shape_count;
  loom_cancel cancel; /* read between cells: ends the call with CANCELLED */
} loom_pass;

/* Fields that are 0 mean the default. */
typedef struct loom_trainer_options {
  uint32_t struct_size; /* sizeof(loom_trainer_options), set by the caller */
  loom_threads threads; /* shared workers; 0: workers of its own */
  int32_t thread_count; /* of its own workers; 0: one per physical core */
  const char* isa; /* an instruction set by name, to compare; NULL: the best one */
  uint64_t max_bytes; /* of activations: a step that needs more is OUT_OF_MEMORY; 0: no limit */
} loom_trainer_options;

/* Samples that a network learns from: classes or target values, as its loss takes them. */
typedef struct loom_batch {
  uint32_t struct_size; /* sizeof(loom_batch), set by the caller */
  const float* inputs; /* row-major */
  size_t inputs_count;
  const uint64_t* shape; /* of the inputs, samples first */
  size_t shape_count;
  const int32_t* classes; /* one id per row of the output */
  size_t classes_count;
  const float* targets; /* as many values per sample as the output has */
  size_t targets_count;
} loom_batch;

/* What one step of a training did. */
typedef struct loom_training_step {
  uint32_t struct_size; /* sizeof(loom_training_step), set by the caller */
  double loss; /* of the batch, before the step */
  double learning_rate; /* of the step */
  double gradient_norm; /* 0 unless the config clips by it */
  int32_t skipped; /* a loss, a gradient or an update was not finite: everything is as before */
  const char* why; /* of a skipped step; lasts until the next call with the trainer */
  size_t why_size;
} loom_training_step;

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

/* ---- hooks ---- */
/* What a host takes over. Each holds for all threads from then on; NULL gives it back. Set them before other calls:
   one that runs meanwhile may still use the old one. */

/* Tells the host of every call that fails, on the thread of the call. The hook may call other functions; their
   failures are not told. */
LOOM_API loom_status loom_set_log(loom_on_log log, void* user);

/* Takes the memory of tensors from the host: weights, activations, keys and values. What was taken goes back to the
   functions that gave it. */
LOOM_API loom_status loom_set_memory(loom_allocate_memory allocate, loom_free_memory free, void* user);

/* Tells the host of a broken invariant of the library before the process ends. */
LOOM_API loom_status loom_set_fatal(loom_on_fatal fatal, void* user);

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

/* ---- networks ---- */
/* Cells stand in a grid and are addressed as {z, y, x, l}. Names of weights are paths: "layers.0.weight". Layers are
   described in docs/layers.md. */

/* Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring are drawn from its
   seed. */
LOOM_API loom_status loom_network_from_json(const void* json, size_t json_size,
    const loom_network_options* options, loom_network* network);

/* Makes a transformer of an arch_config. */
LOOM_API loom_status loom_network_from_arch(const void* json, size_t json_size, loom_network* network);

/* Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x. */
LOOM_API loom_status loom_network_open(const char* path, const loom_network_options* options, loom_network* network);

/* The same of bytes. */
LOOM_API loom_status loom_network_from_memory(const void* data, size_t data_size,
    const loom_network_options* options, loom_network* network);

/* Makes a copy that shares nothing which can change. */
LOOM_API loom_status loom_network_clone(loom_network network, loom_network* copy);

/* Makes a network of one parallel cell whose branches are copies of cell 0 of each network. (combine_mode: concat,
   add, avg, ..., as of the kind parallel; share: the copies stand in cells of their own, which the branches link to) */
LOOM_API loom_status loom_network_graft(const loom_network* networks, size_t networks_count,
    const char* combine_mode, int32_t share, loom_network* grafted);

/* Writes a file, whole or not at all: .json a checkpoint, everything else .entity. (keep_master: exact masters
   beside packed weights, for further training) */
LOOM_API loom_status loom_network_save(loom_network network, const char* path, int32_t keep_master);

/* The same as bytes. (keep_master: of FORMAT_ENTITY) */
LOOM_API loom_status loom_network_to_bytes(loom_network network, loom_network_format format, int32_t keep_master,
    loom_blob* bytes);

/* Gives the spec as JSON: every setting that is not the default, without weights. */
LOOM_API loom_status loom_network_spec(loom_network network, loom_blob* spec);

/* Gives a JSON object: grid, layers with kinds, types and weights, memory, input and output shape, what a lenient
   reader met. */
LOOM_API loom_status loom_network_info(loom_network network, loom_blob* info);

/* Gives a picture of the grid, SVG. (title: above the picture; NULL: the network's name) */
LOOM_API loom_status loom_network_draw(loom_network network, const char* title, loom_blob* svg);

/* Gives the SHA-256 of all weights as text, 64 hexadecimal digits. */
LOOM_API loom_status loom_network_hash(loom_network network, loom_blob* hash);

/* Resolves links and infers all shapes from the input's, samples first; a session does so by itself. */
LOOM_API loom_status loom_network_prepare(loom_network network, const uint64_t* input, size_t input_count,
    const uint64_t** output, size_t* output_count);

/* Puts a layer, a JSON object as in a spec, into a cell in place of what stands there; its weights are drawn.
   Sessions begin anew behind this. (address: z, y, x, l; layer: of size 0: the cell becomes empty) */
LOOM_API loom_status loom_network_place(loom_network network, const uint64_t* address, size_t address_count,
    const void* layer, size_t layer_size);

/* Gives the matrices another numeric type. Masters stay exact. Sessions begin anew behind this. (path: a layer and
   all below it, "layers.3"; NULL: all) */
LOOM_API loom_status loom_network_morph(loom_network network, const char* path, const char* dtype);

/* Frees the exact masters of weights whose type holds their values. */
LOOM_API loom_status loom_network_release_masters(loom_network network);

/* Adds every enabled adapter to its matrix and removes it. */
LOOM_API loom_status loom_network_merge_adapters(loom_network network);

/* Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen, master. */
LOOM_API loom_status loom_network_weights(loom_network network, loom_blob* list);

/* Gives the values that a weight stands for. (values: the weight's number of elements) */
LOOM_API loom_status loom_network_get_weight(loom_network network, const char* name, float* values,
    size_t values_count);

/* The same in double precision. */
LOOM_API loom_status loom_network_get_weight_f64(loom_network network, const char* name, double* values,
    size_t values_count);

/* Gives a weight new values. NON_FINITE names the first that is not finite. */
LOOM_API loom_status loom_network_set_weight(loom_network network, const char* name, const float* values,
    size_t values_count);

/* The same in double precision. */
LOOM_API loom_status loom_network_set_weight_f64(loom_network network, const char* name, const double* values,
    size_t values_count);

/* Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64. */
LOOM_API loom_status loom_network_weight_codes(loom_network network, const char* name, loom_blob* codes);

/* Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL: all) */
LOOM_API loom_status loom_network_freeze(loom_network network, const char* path, int32_t frozen);

/* ---- network sessions ---- */
/* Inputs and outputs are row-major, samples first. Networks whose activations are f64 take the functions that end
   so. A session prepares its network if nobody did. */

/* Makes a session. */
LOOM_API loom_status loom_network_session_create(loom_network network, const loom_network_session_options* options,
    loom_network_session* session);

/* Runs the network. The output lasts until the next call with the session. */
LOOM_API loom_status loom_network_session_forward(loom_network_session session, const float* input,
    size_t input_count, const uint64_t* shape, size_t shape_count, const loom_pass* pass, const float** output,
    size_t* output_count, const uint64_t** output_shape, size_t* output_shape_count);

/* The same for a network that computes in f64. */
LOOM_API loom_status loom_network_session_forward_f64(loom_network_session session, const double* input,
    size_t input_count, const uint64_t* shape, size_t shape_count, const loom_pass* pass, const double** output,
    size_t* output_count, const uint64_t** output_shape, size_t* output_shape_count);

/* Names the caller's memory that loom_network_session_run() reads and fills. It must last as long as it is bound;
   NULL unbinds. (output: the output's number of elements) */
LOOM_API loom_status loom_network_session_bind(loom_network_session session, const float* input,
    size_t input_count, const uint64_t* shape, size_t shape_count, float* output, size_t output_count);

/* Runs the network from the bound input into the bound output. */
LOOM_API loom_status loom_network_session_run(loom_network_session session);

/* Goes back after a forward of a session with `backward`: adds to the gradients of the weights and gives that of the
   input, which lasts until the next call. (output_gradient: of the last output's shape) */
LOOM_API loom_status loom_network_session_backward(loom_network_session session, const float* output_gradient,
    size_t output_gradient_count, loom_cancel cancel, const float** input_gradient, size_t* input_gradient_count);

/* The same for a network that computes in f64. */
LOOM_API loom_status loom_network_session_backward_f64(loom_network_session session, const double* output_gradient,
    size_t output_gradient_count, loom_cancel cancel, const double** input_gradient,
    size_t* input_gradient_count);

/* Gives the gradient of a weight, added up since it was last cleared. */
LOOM_API loom_status loom_network_session_gradient(loom_network_session session, const char* weight, float* values,
    size_t values_count);

/* Sets every gradient to 0. */
LOOM_API loom_status loom_network_session_clear_gradients(loom_network_session session);

/* Begins every sequence and state anew. */
LOOM_API loom_status loom_network_session_reset(loom_network_session session);

/* Goes back to where the sequences of a session with a context had so many positions. */
LOOM_API loom_status loom_network_session_rewind(loom_network_session session, uint64_t length);

/* Gives the state that the next call depends on as bytes: recurrent states, memories, keys and values. */
LOOM_API loom_status loom_network_session_snapshot(loom_network_session session, loom_blob* bytes);

/* Puts such a state back, into a session of the same network and options. */
LOOM_API loom_status loom_network_session_restore(loom_network_session session, const void* bytes, size_t bytes_size);

/* Gives a JSON object: threads, memory, element type, positions, states. */
LOOM_API loom_status loom_network_session_info(loom_network_session session, loom_blob* info);

/* ---- training ---- */
/* A config is the JSON of docs/training.md, here its keys of one step: loss, optimizer, learning_rate, schedule,
   clip_norm, tween, mixed and so on. */

/* Makes a network ready to learn from batches of that shape, samples first. Nobody else may change the network while
   it learns; calls that try answer BUSY, and a changed grid ends the training. */
LOOM_API loom_status loom_trainer_create(loom_network network, const void* config, size_t config_size,
    const uint64_t* shape, size_t shape_count, const loom_trainer_options* options, loom_trainer* trainer);

/* Learns from one batch. */
LOOM_API loom_status loom_trainer_step(loom_trainer trainer, const loom_batch* batch, loom_training_step* step);

/* Gives the loss of a batch and the output, which lasts until the next call; no weight changes. */
LOOM_API loom_status loom_trainer_evaluate(loom_trainer trainer, const loom_batch* batch, double* loss,
    const float** output, size_t* output_count, const uint64_t** output_shape, size_t* output_shape_count);

/* Tells schedules that count epochs which one it is, from 0. */
LOOM_API loom_status loom_trainer_set_epoch(loom_trainer trainer, uint64_t epoch);

/* Gives the schedule "plateau" a validation metric. */
LOOM_API loom_status loom_trainer_observe(loom_trainer trainer, double metric);

/* Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the figures of each cell's
   target. */
LOOM_API loom_status loom_trainer_info(loom_trainer trainer, loom_blob* info);

#ifdef __cplusplus
}
#endif

#endif
