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

/* Version of this interface. Libraries of an equal version serve programs of older headers, whose structs may be
   smaller. */
typedef int32_t loom_abi;
#define LOOM_ABI_VERSION 1 /* compared with loom_library_abi_version() when a program loads the library */

/* Status of a call: OK, or the reason why it failed. loom_last_error() has the text. */
typedef int32_t loom_status;
#define LOOM_OK                 0 /* done */
#define LOOM_INVALID_ARGUMENT   1 /* an argument is outside what the function takes */
#define LOOM_INVALID_CONFIG     2 /* a configuration contradicts itself */
#define LOOM_SHAPE_MISMATCH     3 /* shapes that must fit do not */
#define LOOM_SIZE_OVERFLOW      4 /* a size overflows */
#define LOOM_OUT_OF_RANGE       5 /* a number is outside its range */
#define LOOM_INDEX_OUT_OF_RANGE 6 /* an index is outside of what it counts */
#define LOOM_NON_FINITE         7 /* a value is infinite or NaN */
#define LOOM_UNKNOWN_NAME       8 /* a name is unknown */
#define LOOM_UNKNOWN_KEY        9 /* a key is unknown */
#define LOOM_NOT_FOUND          10 /* there is no such file or part */
#define LOOM_IO_ERROR           11 /* the system refused to read or write */
#define LOOM_DISK_FULL          12 /* no room is left on the disk */
#define LOOM_CORRUPT_DATA       13 /* the content makes no sense */
#define LOOM_UNSUPPORTED        14 /* the content is known and not supported */
#define LOOM_OUT_OF_MEMORY      15 /* out of memory */
#define LOOM_CONTEXT_FULL       16 /* the context of a session holds no more tokens */
#define LOOM_NO_TEMPLATE        17 /* the model brings no chat template */
#define LOOM_TEMPLATE_ERROR     18 /* a chat template failed */
#define LOOM_LIMIT_EXCEEDED     19 /* a limit that guards against hostile input was met */
#define LOOM_LINK_CYCLE         20 /* links lead in a circle */
#define LOOM_CANCELLED          21 /* the caller's cancel ended the call */
#define LOOM_EMPTY_TENSOR       22 /* a tensor has no values */
#define LOOM_FEEDBACK_LINK      23 /* a link leads backwards where none may */
#define LOOM_LINK_TO_EMPTY      24 /* a link leads to an empty cell */
#define LOOM_NESTING_TOO_DEEP   25 /* containers are nested too deep */
#define LOOM_INVALID_STATE      26 /* the object is not in the state that the call needs */
#define LOOM_NO_VALUE           27 /* there is no value so far */
#define LOOM_NO_HISTORY         28 /* there is no history so far */
#define LOOM_LOSSY_SAVE         29 /* the format cannot hold the values exactly */
#define LOOM_BUSY               30 /* another thread uses the object, or this call was made from a callback of it */
#define LOOM_BAD_HANDLE         31 /* the handle is none, was released, or is of another kind */
#define LOOM_DEVICE_LOST        32 /* the graphics card is lost with the values on it; objects of language models continue on the CPU */

/* Kind of the object that a handle refers to. */
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
#define LOOM_KIND_STEP_MESH       11
#define LOOM_KIND_STEP_STATE      12
#define LOOM_KIND_TWEEN           13
#define LOOM_KIND_MESH_TWEEN      14
#define LOOM_KIND_POPULATION      15
#define LOOM_KIND_CHAT            16
#define LOOM_KIND_REPLICA         17
#define LOOM_KIND_LAYER           18
#define LOOM_KIND_GRAPH           19
#define LOOM_KIND_GRAPH_SESSION   20
#define LOOM_KIND_ENCODER         21
#define LOOM_KIND_ADAPTATION      22
#define LOOM_KIND_JUDGE           23

/* The type of a tensor's numbers, numbered as in ONNX files. Values follow each other, little-endian; two codes of 4
   bits share a byte, the first one in the low bits. */
typedef int32_t loom_element;
#define LOOM_ELEMENT_NONE          0 /* unspecified */
#define LOOM_ELEMENT_FLOAT32       1
#define LOOM_ELEMENT_UINT8         2
#define LOOM_ELEMENT_INT8          3
#define LOOM_ELEMENT_UINT16        4
#define LOOM_ELEMENT_INT16         5
#define LOOM_ELEMENT_INT32         6
#define LOOM_ELEMENT_INT64         7
#define LOOM_ELEMENT_BOOL          9 /* a byte each, 0 or 1 */
#define LOOM_ELEMENT_FLOAT16       10
#define LOOM_ELEMENT_FLOAT64       11
#define LOOM_ELEMENT_UINT32        12
#define LOOM_ELEMENT_UINT64        13
#define LOOM_ELEMENT_BFLOAT16      16
#define LOOM_ELEMENT_FLOAT8_E4M3FN 17
#define LOOM_ELEMENT_FLOAT8_E5M2   19
#define LOOM_ELEMENT_UINT4         21
#define LOOM_ELEMENT_INT4          22

/* How a training treats a folder that holds a run. */
typedef int32_t loom_run_start;
#define LOOM_RUN_FRESH     0 /* begins; a folder that holds a run is INVALID_ARGUMENT */
#define LOOM_RUN_RESUME    1 /* continues from the last checkpoint, or begins where there is none */
#define LOOM_RUN_OVERWRITE 2 /* begins again and overwrites the run */

/* The place in a training that an event reports. */
typedef int32_t loom_training_phase;
#define LOOM_TRAINING_BEGIN          0
#define LOOM_TRAINING_EPOCH_BEGIN    1
#define LOOM_TRAINING_BATCH_BEGIN    2
#define LOOM_TRAINING_BATCH_END      3
#define LOOM_TRAINING_VALIDATION_END 4
#define LOOM_TRAINING_CHECKPOINT     5
#define LOOM_TRAINING_EPOCH_END      6
#define LOOM_TRAINING_END            7

/* Why a training ended. */
typedef int32_t loom_training_stop;
#define LOOM_TRAINING_STOP_NOT_YET    0 /* it continues */
#define LOOM_TRAINING_STOP_FINISHED   1 /* after its last epoch */
#define LOOM_TRAINING_STOP_EARLY_STOP 2 /* validations no longer improved */
#define LOOM_TRAINING_STOP_STOPPED    3 /* a callback or cancel ended it; it can be resumed */
#define LOOM_TRAINING_STOP_DIVERGED   4 /* values were not finite; the outcome has a message */

/* A pass over the layers of a network. */
typedef int32_t loom_pass_kind;
#define LOOM_PASS_FORWARD  0
#define LOOM_PASS_BACKWARD 1 /* gradients */
#define LOOM_PASS_TICK     2 /* of a step mesh */
#define LOOM_PASS_TWEEN    3 /* gaps of target propagation */

/* A file that Loom reads. */
typedef int32_t loom_schema_kind;
#define LOOM_SCHEMA_NETWORK   0 /* the spec of a network */
#define LOOM_SCHEMA_TRAINING  1 /* the config of a training */
#define LOOM_SCHEMA_EVOLUTION 2 /* the config of an evolution */

/* How a network becomes bytes. */
typedef int32_t loom_network_format;
#define LOOM_FORMAT_ENTITY 0 /* the binary format: every weight as it is */
#define LOOM_FORMAT_JSON   1 /* a JSON checkpoint: the spec, and packed weights in Base64 */

/* How much a message matters. */
typedef int32_t loom_log_level;
#define LOOM_LOG_ERROR 1 /* a call failed */
#define LOOM_LOG_INFO  3 /* a lost graphics card whose work continues on the CPU */

/* How a text becomes a prompt. */
typedef int32_t loom_prompt_form;
#define LOOM_PROMPT_AUTO     0 /* a question for a model with a chat template, a text to continue for the others */
#define LOOM_PROMPT_RAW      1 /* the text is continued as it is */
#define LOOM_PROMPT_CHAT     2 /* the text is a question; NO_TEMPLATE when the model brings no template */
#define LOOM_PROMPT_MESSAGES 3 /* the text is a conversation for the chat template: a JSON list of messages with role and content */

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
/* A conversation over a session. */
typedef loom_handle loom_chat;
/* A grid of layers with their weights. Calls that change it answer BUSY while another thread runs it, and the other
   way round. */
typedef loom_handle loom_network;
/* One user of a network: activations, gradients, states. Several may run one network at the same time. */
typedef loom_handle loom_network_session;
/* A network that learns, step by step. */
typedef loom_handle loom_trainer;
/* A network that moves in ticks: in each every cell reads what the others left in the tick before. */
typedef loom_handle loom_step_mesh;
/* One user of a step mesh: outputs of the cells, recurrent states, captured ticks. */
typedef loom_handle loom_step_state;
/* A network that learns by targets, in single calls. */
typedef loom_handle loom_tween;
/* A step mesh that learns by targets between its ticks. */
typedef loom_handle loom_mesh_tween;
/* Networks that are judged, mixed and changed, generation by generation. */
typedef loom_handle loom_population;
/* A network that computes gradients for a training in another process. */
typedef loom_handle loom_replica;
/* A graph of operations, as an ONNX file holds one. Immutable. */
typedef loom_handle loom_graph;
/* One user of a graph: plans, memory, inputs and outputs. Several may run one graph at the same time. */
typedef loom_handle loom_graph_session;
/* A model that turns texts into vectors. */
typedef loom_handle loom_encoder;
/* Measures how fast accuracy recovers after the task changes. */
typedef loom_handle loom_adaptation;
/* A layer of a kind of the host's own, in one call of a callback. It lasts until the callback returns, and need not
   be released. */
typedef loom_handle loom_layer;
/* The task of an evolution that runs in another process. */
typedef loom_handle loom_judge;

typedef struct loom_training_event loom_training_event;
typedef struct loom_shards_event loom_shards_event;
typedef struct loom_layer_event loom_layer_event;
typedef struct loom_window_event loom_window_event;
typedef struct loom_judging_event loom_judging_event;
typedef struct loom_tensor loom_tensor;
typedef struct loom_kind_callbacks loom_kind_callbacks;
typedef struct loom_compute_options loom_compute_options;
typedef struct loom_model_options loom_model_options;
typedef struct loom_session_options loom_session_options;
typedef struct loom_generation_options loom_generation_options;
typedef struct loom_network_options loom_network_options;
typedef struct loom_network_session_options loom_network_session_options;
typedef struct loom_pass loom_pass;
typedef struct loom_batch loom_batch;
typedef struct loom_training_step loom_training_step;
typedef struct loom_training_options loom_training_options;
typedef struct loom_evolution_options loom_evolution_options;
typedef struct loom_step_mesh_options loom_step_mesh_options;
typedef struct loom_tick_options loom_tick_options;
typedef struct loom_file_convert_options loom_file_convert_options;
typedef struct loom_step loom_step;
typedef struct loom_generation loom_generation;
typedef struct loom_graph_options loom_graph_options;
typedef struct loom_encoder_options loom_encoder_options;
typedef struct loom_file_open_options loom_file_open_options;
typedef struct loom_file_export_options loom_file_export_options;

/* Called on the calling thread with the fraction that is done, from 0 to 1. Return 1 to continue, 0 to cancel the
   call. */
typedef int32_t (*loom_on_progress)(void* user, double fraction);
/* Called on the calling thread with each event of a training. Return 1 to continue, 0 to stop training after this
   event. */
typedef int32_t (*loom_on_training)(void* user, const loom_training_event* event);
/* Called on the calling thread for each step of a training whose gradients other processes compute. Fill gradients,
   losses and counts of the event. Return 1 to continue, 0 to stop the training before this step. */
typedef int32_t (*loom_on_shards)(void* user, const loom_shards_event* event);
/* Called on the calling thread after each generation with its report, a JSON object. Return 1 to continue, 0 to end
   the evolution. */
typedef int32_t (*loom_on_generation)(void* user, const char* report);
/* Called on the calling thread after each layer of a pass, children before their container. Return 1 to continue, 0
   to end the watch. */
typedef int32_t (*loom_on_layer)(void* user, const loom_layer_event* event);
/* Called on the calling thread after each window of layers. Return 1 to continue, 0 to end the watch. */
typedef int32_t (*loom_on_window)(void* user, const loom_window_event* event);
/* Called on the calling thread for each generation of an evolution whose networks other processes judge. Fill the
   fitness of the event. Return 1 to continue, 0 to end the evolution with CANCELLED. */
typedef int32_t (*loom_on_judging)(void* user, const loom_judging_event* event);
/* Reads up to `size` bytes from `offset` on into `to` and returns how many, 0 for none; -1 is a failure. */
typedef int64_t (*loom_read_at)(void* user, uint64_t offset, void* to, size_t size);
/* Function that a worker of the host calls. */
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
/* A callback of a layer kind of the host's own. It describes the computation with loom_layer functions and returns
   LOOM_OK, or the status of one of them that failed. The description must depend on settings and shapes only.
   Several threads may call it at the same time. */
typedef loom_status (*loom_layer_rule)(void* user, loom_layer layer);
/* Called when the library finds itself broken; the process ends when it returns. */
typedef void (*loom_on_fatal)(void* user, const char* text);

/* An event of a training, for on_training. It lasts during the call. */
struct loom_training_event {
  uint32_t struct_size; /* sizeof(loom_training_event), set by the library */
  loom_training_phase phase;
  uint64_t epoch; /* from 0 */
  uint64_t epochs; /* of the training */
  uint64_t batch; /* of the epoch, from 0 */
  uint64_t batches; /* of an epoch */
  double loss; /* of the last batch; at TRAINING_EPOCH_END the mean of the epoch */
  double learning_rate; /* of the last step */
  const char* validation; /* a JSON object of metrics after a validation, else NULL */
  loom_training_stop stop; /* at TRAINING_END, else TRAINING_STOP_NOT_YET */
}; /* loom_training_event */

/* A step whose gradients the host provides, for on_shards. For each node of shards [first, first + count) that a
   replica has summed, write the sum into the first-th part of gradients, its loss into losses[first] and count into
   counts[first]. Counts inside a node stay 0. The event lasts during the call. */
struct loom_shards_event {
  uint32_t struct_size; /* sizeof(loom_shards_event), set by the library */
  uint64_t epoch; /* argument of loom_replica_begin() after the replica, as are the next four */
  uint64_t position; /* samples of the epoch before the batch */
  uint64_t step;
  double loss_scale;
  const void* masters; /* the weights */
  size_t masters_size;
  uint64_t shards; /* of the step */
  uint64_t gradient_size; /* bytes of one part of gradients */
  uint8_t* gradients; /* to fill: `shards` parts, one after another */
  size_t gradients_count;
  double* losses; /* to fill: one for each shard */
  size_t losses_count;
  uint64_t* counts; /* to fill: one for each shard, 0 at first */
  size_t counts_count;
}; /* loom_shards_event */

/* A layer that ran, for on_layer. The statistics are those of its output, or of the gradient or gap of its input.
   The event lasts during the call. */
struct loom_layer_event {
  uint32_t struct_size; /* sizeof(loom_layer_event), set by the library */
  loom_pass_kind pass;
  const char* path; /* of the layer, "layers.3" */
  const char* layer; /* its kind, "dense" */
  const char* dtype; /* of its weights */
  uint64_t cell; /* index of the cell that holds it */
  uint64_t step; /* of the call, or the number of ticks */
  double mean;
  double deviation; /* standard deviation */
  double greatest;
  double least;
  uint64_t active; /* values above 1e-6 in magnitude */
  const loom_tensor* values; /* float32 or float64, with its shape */
}; /* loom_layer_event */

/* Statistics of consecutive layers that ran, for on_window. The event lasts during the call. */
struct loom_window_event {
  uint32_t struct_size; /* sizeof(loom_window_event), set by the library */
  uint64_t layers; /* in the window */
  double mean; /* average of the means of the layers */
  double deviation; /* average of their standard deviations */
  double greatest; /* of all values */
  double least; /* of all values */
  double active; /* average number of values above 1e-6 in magnitude */
  double sparsity; /* fraction of values that are not active, 0 to 1 */
  uint64_t first_step; /* of the first layer */
  uint64_t last_step; /* of the last layer */
}; /* loom_window_event */

/* Networks of a generation that the host judges, for on_judging. The event lasts during the call. */
struct loom_judging_event {
  uint32_t struct_size; /* sizeof(loom_judging_event), set by the library */
  const void* networks; /* files (.entity), one after another */
  size_t networks_size;
  const uint64_t* ends; /* where each file ends in networks; one for each network */
  size_t ends_count;
  uint64_t width; /* numbers that loom_judge_fitness() gives for a network */
  /* to fill: width numbers for each network, one network after another; NaN ranks last */
  double* fitness;
  size_t fitness_count;
}; /* loom_judging_event */

/* Values with their type and shape, row-major and little-endian. A function reads a tensor that goes in, and fills
   the memory of one that it is to write. A function that gives a tensor sets all fields, and its memory belongs to
   the object of the call. */
struct loom_tensor {
  uint32_t struct_size; /* sizeof(loom_tensor), set by the caller */
  loom_element element; /* type of the values */
  void* data; /* the values; the size is in bytes */
  size_t data_size;
  const uint64_t* shape; /* extents, outermost first; none for a scalar */
  size_t shape_count;
}; /* loom_tensor */

/* Callbacks of a custom layer kind. */
struct loom_kind_callbacks {
  uint32_t struct_size; /* sizeof(loom_kind_callbacks), set by the caller */
  loom_layer_rule declare; /* declares the weights by the settings; NULL: there are none */
  /* says how the output follows from the input; the shape of its result is that of the output */
  loom_layer_rule forward;
  /* says how the gradient of the input follows from that of the output, and adds to those of the weights; NULL:
     layers of the kind do not learn. Targets go the same way */
  loom_layer_rule backward;
  void* user; /* first argument of the callbacks */
}; /* loom_kind_callbacks */

/* Threads, instruction set, device and memory of a call or an object. No result depends on them, but for a device of
   precision fast. A field that a call cannot use is INVALID_ARGUMENT with its name. Fields that are 0 mean the
   default. */
struct loom_compute_options {
  uint32_t struct_size; /* sizeof(loom_compute_options), set by the caller */
  loom_threads threads; /* shared workers; 0: workers of its own */
  int32_t thread_count; /* of its own workers; 0: one per physical core */
  const char* isa; /* an instruction set by name, to compare; NULL: the best one */
  /* where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; NULL: cpu. gpu:fast and gpu:N:fast
     give up equal bits for speed */
  const char* device;
  uint64_t max_bytes; /* of activations: a call that needs more is OUT_OF_MEMORY; 0: no limit */
}; /* loom_compute_options */

/* Fields that are 0 mean the default. */
struct loom_model_options {
  uint32_t struct_size; /* sizeof(loom_model_options), set by the caller */
  /* workers for loading: threads or thread_count; NULL: one per physical core */
  const loom_compute_options* compute;
  loom_cancel cancel; /* ends the call with CANCELLED */
  loom_on_progress progress; /* NULL: none */
  void* user; /* first argument of progress */
  const char* dtype; /* quantises the matrices on load to this type, by name; NULL: as stored */
  const char* const* adapters; /* folders of PEFT adapters */
  size_t adapters_count;
}; /* loom_model_options */

/* Fields that are 0 mean the default. */
struct loom_session_options {
  uint32_t struct_size; /* sizeof(loom_session_options), set by the caller */
  const loom_compute_options* compute; /* threads, instruction set and device; NULL: defaults */
  uint32_t sequences; /* how many sequences it holds at once; 0: one */
  uint64_t context_tokens; /* longest sequence; 0: what the model was trained for, at most 4096 */
  const char* kv_dtype; /* of keys and values: float32 (the default), bfloat16, int8 */
  int32_t int8_activations; /* activations in 8 bits instead of 16: faster, a little less exact */
}; /* loom_session_options */

/* Fields that are 0 mean the default: 128 tokens, the most likely token each time. The fields from plain_text on say
   how a chat template writes the prompt; where none does (LOOM_PROMPT_RAW, ids) they are INVALID_ARGUMENT. */
struct loom_generation_options {
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
  /* drafts, what followed the same tokens before, are checked several at once: the same text in less time */
  int32_t speculate;
  loom_model draft_model; /* a smaller model with the same tokens that drafts instead */
  /* max_tokens is 0: the prompt is read and nothing is drawn; a max_tokens beside it is INVALID_ARGUMENT */
  int32_t prompt_only;
  const int32_t* bias_ids; /* tokens whose logits change before each draw */
  size_t bias_ids_count;
  const float* biases; /* added to the logits of bias_ids, one each; -infinity: never drawn */
  size_t biases_count;
  const int32_t* stop_ids; /* tokens that end the text, beside the model's own */
  size_t stop_ids_count;
  /* how many of the best tokens loom_generator_logprobs() reports for each draw; 0: none */
  uint32_t logprobs;
  /* control tokens in a question or in messages (as <|im_end|>) are read as text: for texts of strangers. Control
     tokens of the chat template stay */
  int32_t plain_text;
  /* in place of the model's default: the name of another template of the model, one of Loom's own (chatml, llama2,
     llama3, mistral, tinyllama, zephyr, plain, bitnet_instruction, bitnet_microsoft), or the text of a template */
  const char* chat_template;
  const char* tools; /* JSON: a list of functions that the chat template describes to the model */
  /* JSON: an object of variables that the chat template reads, as {"enable_thinking": false} */
  const char* template_variables;
  const char* date; /* YYYY-MM-DD, for chat templates that write the day */
  /* with LOOM_PROMPT_MESSAGES: the model continues the last message in place of answering it */
  int32_t continue_final_message;
  /* a JSON Schema that the text satisfies, or begins to satisfy where the answer is cut. At most one of this and the
     next three is set; what they have and Loom does not support is INVALID_ARGUMENT, by name */
  const char* schema;
  const char* grammar; /* a grammar in llama.cpp's GBNF, likewise */
  const char* regex; /* a regular expression that matches the whole text, likewise */
  const char* const* choices; /* texts of which the answer is one */
  size_t choices_count;
}; /* loom_generation_options */

/* Fields that are 0 mean the default. */
struct loom_network_options {
  uint32_t struct_size; /* sizeof(loom_network_options), set by the caller */
  int32_t lenient; /* unknown keys are warnings, not errors; loom_network_info() lists them */
  int32_t uninitialised; /* weights that the source does not bring stay without values */
  uint64_t max_bytes; /* of memory for weights that are drawn: OUT_OF_MEMORY beyond; 0: no limit */
}; /* loom_network_options */

/* Fields that are 0 mean the default. */
struct loom_network_session_options {
  uint32_t struct_size; /* sizeof(loom_network_session_options), set by the caller */
  /* threads, instruction set, device and memory; NULL: defaults */
  const loom_compute_options* compute;
  int32_t backward; /* a forward keeps what loom_network_session_backward() needs */
  /* above 0: attention and recurrent layers go on from call to call, as one sequence per sample of up to so many
     positions; not with backward */
  uint64_t context;
  const char* kv_dtype; /* of kept keys and values: float32 (the default), bfloat16, int8 */
  /* above 0: a forward keeps the inputs of each such number of cells alone, and backward computes the rest again */
  uint64_t checkpoint_every;
}; /* loom_network_session_options */

/* Options and side inputs of a forward. Fields that are 0 mean none. */
struct loom_pass {
  uint32_t struct_size; /* sizeof(loom_pass), set by the caller */
  int32_t training; /* dropout, batch statistics */
  uint32_t step; /* of the random streams of dropout */
  const uint64_t* lengths; /* of a ragged batch: valid steps of each sample, the first ones */
  size_t lengths_count;
  const loom_tensor* external; /* input of the layers that read an external one; NULL: none */
  const loom_tensor* mask; /* of attention; NULL: none */
  loom_cancel cancel; /* read between cells: ends the call with CANCELLED */
}; /* loom_pass */

/* Samples that a network learns from, with classes or target values, as its loss takes them. */
struct loom_batch {
  uint32_t struct_size; /* sizeof(loom_batch), set by the caller */
  const loom_tensor* inputs; /* float32 or the network's element, samples first */
  /* int32: a class for each row of the output; float32 or the network's element: as many values for each sample as
     the output has. The samples come first; no shape is needed */
  const loom_tensor* targets;
}; /* loom_batch */

/* Result of one step of a training. */
struct loom_training_step {
  uint32_t struct_size; /* sizeof(loom_training_step), set by the caller */
  double loss; /* of the batch, before the step */
  double learning_rate; /* of the step */
  double gradient_norm; /* 0 unless the config clips by it */
  int32_t skipped; /* a loss, a gradient or an update was not finite: everything is as before */
  const char* why; /* of a skipped step; lasts until the next call with the trainer */
  size_t why_size;
}; /* loom_training_step */

/* Fields that are 0 mean the default. */
struct loom_training_options {
  uint32_t struct_size; /* sizeof(loom_training_options), set by the caller */
  /* threads, instruction set, device and memory; NULL: defaults */
  const loom_compute_options* compute;
  /* folder of the run: journal, checkpoint, model, report. NULL: none, or beside a config file */
  const char* out;
  const char* folder; /* where relative paths of the config start; NULL: the folder of its file */
  loom_run_start start;
  uint64_t epochs; /* in place of the config's; 0: its own */
  loom_cancel cancel; /* ends the run after the current step, with its checkpoint */
  loom_on_training progress; /* NULL: none */
  void* user; /* first argument of progress and shards */
  loom_on_shards shards; /* gives the gradients of every step; NULL: the run computes them */
}; /* loom_training_options */

/* Fields that are 0 mean the default. */
struct loom_evolution_options {
  uint32_t struct_size; /* sizeof(loom_evolution_options), set by the caller */
  /* threads, instruction set and device that judge networks; NULL: defaults. A device is exact, never fast */
  const loom_compute_options* compute;
  const char* out; /* folder of the run; NULL: none, or beside a config file */
  const char* folder; /* where relative paths of the config start; NULL: the folder of its file */
  loom_run_start start;
  uint64_t generations; /* in place of the config's; 0: its own */
  loom_cancel cancel; /* ends the run after the current generation */
  loom_on_generation progress; /* NULL: none */
  void* user; /* first argument of the callbacks */
  loom_on_judging judging; /* judges the networks of a generation; NULL: the run does */
}; /* loom_evolution_options */

/* Fields that are 0 mean the default. */
struct loom_step_mesh_options {
  uint32_t struct_size; /* sizeof(loom_step_mesh_options), set by the caller */
  const loom_compute_options* compute; /* threads, instruction set and device; NULL: defaults */
  uint64_t history; /* captured ticks that a state keeps, at most 65536; 0: none */
  int32_t backward; /* loom_step_mesh_backward() will be called */
  int32_t keep_inputs; /* every tick leaves what it read, which learning by targets starts from */
}; /* loom_step_mesh_options */

/* Fields that are 0 mean the default. */
struct loom_tick_options {
  uint32_t struct_size; /* sizeof(loom_tick_options), set by the caller */
  uint64_t ticks; /* 0: one */
  int32_t capture; /* keeps the values of these ticks that backward needs */
  int32_t training; /* dropout, batch statistics */
  loom_cancel cancel; /* read between cells: ends the call with CANCELLED */
}; /* loom_tick_options */

/* Fields that are 0 mean the default. */
struct loom_file_convert_options {
  uint32_t struct_size; /* sizeof(loom_file_convert_options), set by the caller */
  /* workers of loom_file_convert(): thread_count; NULL: one per physical core */
  const loom_compute_options* compute;
  const char* dtype; /* matrices to this type, by name; NULL: as stored */
  const char* adapter; /* folder of an adapter to merge into the weights */
  loom_on_progress progress; /* NULL: none */
  void* user; /* first argument of progress */
  int32_t overwrite; /* replaces a file of another kind than the one that is written, too */
}; /* loom_file_convert_options */

/* Result of one call of loom_generator_next(). */
struct loom_step {
  uint32_t struct_size; /* sizeof(loom_step), set by the caller */
  /* text that can no longer change, following the pieces before; may be empty; lasts until the next call with the
     generator */
  const char* text;
  size_t text_size;
  uint64_t prompt_tokens; /* of the prompt read so far */
  uint64_t generated_tokens; /* drawn so far */
  loom_stop stop; /* STOP_NOT_YET: call again */
}; /* loom_step */

/* A generation so far, or whole. Pointers last until the next call with the generator. */
struct loom_generation {
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
  uint64_t drafted; /* tokens that were drafted; 0 without speculation */
  uint64_t accepted; /* of these, that came true and took no pass of their own */
  uint64_t passes; /* of the model over drawn tokens, with their drafts */
}; /* loom_generation */

/* Fields that are 0 mean the default. */
struct loom_graph_options {
  uint32_t struct_size; /* sizeof(loom_graph_options), set by the caller */
  /* of all values of a run: more is OUT_OF_MEMORY, one value that takes all of it SIZE_OVERFLOW; 0: 16 GiB */
  uint64_t max_bytes;
}; /* loom_graph_options */

/* Fields that are 0 mean the default. */
struct loom_encoder_options {
  uint32_t struct_size; /* sizeof(loom_encoder_options), set by the caller */
  /* threads, instruction set, device and memory; NULL: defaults */
  const loom_compute_options* compute;
  const char* dtype; /* quantises the matrices on load to this type, by name; NULL: float32 */
  /* put before every text; the empty text puts nothing. NULL: the prompt that prompt_name names */
  const char* prompt;
  /* a prompt of the folder by its name, such as query; not beside prompt. NULL: the folder's default one, if any */
  const char* prompt_name;
}; /* loom_encoder_options */

/* Fields that are 0 mean the default. */
struct loom_file_open_options {
  uint32_t struct_size; /* sizeof(loom_file_open_options), set by the caller */
  /* workers for loading, of an encoder, and of the sessions of a graph that name none: threads or thread_count; not
     for a network. NULL: one per physical core */
  const loom_compute_options* compute;
  /* a JSON file of what the shapes of bare tensors do not say (docs/reference/formats.md); NULL: none */
  const char* hints;
  loom_cancel cancel; /* ends the loading of a language model with CANCELLED */
  loom_on_progress progress; /* of a language model; NULL: none */
  void* user; /* first argument of progress */
  /* quantises the matrices of a language model or an encoder on load; not for other files. NULL: as stored */
  const char* dtype;
  /* unknown keys of a network's spec are warnings, not errors; not for other files */
  int32_t lenient;
}; /* loom_file_open_options */

/* Fields that are 0 mean the default. */
struct loom_file_export_options {
  uint32_t struct_size; /* sizeof(loom_file_export_options), set by the caller */
  const uint64_t* input_shape; /* ONNX: of one sample; of size 0: the network's own */
  size_t input_shape_count;
  int32_t dequantize; /* networks: integer weights as the float32 values that they stand for */
  /* of a file of bare tensors: a JSON file (docs/reference/formats.md); NULL: none */
  const char* hints;
  const char* dtype; /* language models: matrices to this type, by name; NULL: as stored */
  loom_cancel cancel; /* ends the call with CANCELLED */
  loom_on_progress progress; /* of a language model; NULL: none */
  void* user; /* first argument of progress */
  int32_t overwrite; /* replaces a file of another kind than the one that is written, too */
}; /* loom_file_export_options */

/* ---- library ---- */
/* Versions, errors, devices and checks. Functions are named loom_<object>_<verb>; those of the library and of any
   handle have no object in their names. */

/* Returns the version, "0.1.0". */
LOOM_API const char* loom_version(void);

/* Returns the LOOM_ABI_VERSION of the library. A program that was compiled with another one must not call other
   functions. */
LOOM_API loom_abi loom_library_abi_version(void);

/* Returns the text of the last call on this thread that failed, one line; empty before any. It lasts until the next
   one fails. */
LOOM_API const char* loom_last_error(void);

/* Returns the name of a reason that a generation ended for, as files and receipts have it: eos, stop, length,
   context or cancelled; "" for STOP_NOT_YET and for a number that is none. */
LOOM_API const char* loom_stop_name(int32_t stop);

/* Returns the name of a reason that a training ended for, as the stop_reason of outcomes, journals and reports:
   finished, early_stop, stopped or diverged; "" for TRAINING_STOP_NOT_YET and for a number that is none. */
LOOM_API const char* loom_training_stop_name(int32_t stop);

/* Returns the name of a status, "Busy"; "Unknown" for a number that is none. */
LOOM_API const char* loom_status_name(int32_t status);

/* Gives the version of the arithmetic: results of equal versions have equal bits. */
LOOM_API loom_status loom_numerics_version(uint32_t* version);

/* Gives a JSON object: version, CPU, instruction sets, cores. */
LOOM_API loom_status loom_system_info(loom_blob* info);

/* Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
   Takes seconds. (compute: thread_count and isa; NULL: defaults) */
LOOM_API loom_status loom_verify(const loom_compute_options* compute, loom_blob* digest);

/* Gives a JSON object with the graphics cards that options can name in their field device: adapters, each with
   device ("gpu:0"), name, driver, backend, kind, limits and tier. IO_ERROR with the reason in one line where there
   is none. With the suffix :fast (gpu:0:fast) a card or auto need not be exact: its results differ from those of
   other devices (docs/guide/gpu.md). */
LOOM_API loom_status loom_gpu_report(loom_blob* report);

/* Gives what numbers become in a numeric type: encoded, with scales estimated as those of a matrix of such rows, and
   decoded. (columns: of a row; 0: all are one row; to: as many) */
LOOM_API loom_status loom_dtype_simulate(const float* values, size_t values_count, uint64_t columns,
    const char* dtype, float* to, size_t to_count);

/* ---- handles ---- */
/* Handles are numbers, not pointers: a wrong or released one is BAD_HANDLE, never a crash. Objects that others were
   made from stay alive as long as these. */

/* Increments the reference count of an object. */
LOOM_API loom_status loom_retain(loom_handle handle);

/* Decrements the reference count of an object. At 0 the object is freed, at once or when the calls that use it have
   returned. The handle 0 is ignored. */
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
/* Functions of the host that replace those of the library. Each holds for all threads from then on; NULL gives it
   back. Set them before other calls: one that runs meanwhile may still use the old one. */

/* Reports every call that fails (LOOM_LOG_ERROR), and every lost graphics card whose work continues on the CPU
   (LOOM_LOG_INFO), to the host, on the thread of the call. The hook may call other functions; their failures are not
   reported. */
LOOM_API loom_status loom_set_log(loom_on_log log, void* user);

/* Takes the memory of tensors from the host: weights, activations, keys and values. Memory goes back to the
   functions that gave it. Both functions are called from several threads at once. */
LOOM_API loom_status loom_set_memory(loom_allocate_memory allocate, loom_free_memory free, void* user);

/* Reports a broken invariant of the library to the host before the process ends. */
LOOM_API loom_status loom_set_fatal(loom_on_fatal fatal, void* user);

/* ---- tokenizers ---- */

/* Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json. */
LOOM_API loom_status loom_tokenizer_open(const char* path, loom_tokenizer* tokenizer);

/* Reads a tokenizer.json from memory. */
LOOM_API loom_status loom_tokenizer_from_json(const void* json, size_t json_size, loom_tokenizer* tokenizer);

/* Reads the tokenizer of a GGUF file, an .entity or a tokenizer.json from memory. */
LOOM_API loom_status loom_tokenizer_from_memory(const void* data, size_t data_size, loom_tokenizer* tokenizer);

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

/* Like loom_model_open(), for a part of a file into which a GGUF file or an .entity is embedded. (size: 0: to the
   end) */
LOOM_API loom_status loom_model_open_part(const char* path, uint64_t offset, uint64_t size,
    const loom_model_options* options, loom_model* model);

/* Like loom_model_open(), for bytes, which are read during the call only. */
LOOM_API loom_status loom_model_from_memory(const void* data, size_t data_size, const loom_model_options* options,
    loom_model* model);

/* Like loom_model_open(), for data that a callback of the host reads, on the calling thread: a GGUF file tensor by
   tensor, other files into memory at once. (size: of all bytes) */
LOOM_API loom_status loom_model_from_callback(uint64_t size, loom_read_at read, void* user,
    const loom_model_options* options, loom_model* model);

/* Like loom_model_open() of a Hugging Face folder, for its files in memory: config.json, model.safetensors (or its
   index and shards), tokenizer.json and the others. They are read during the call only; INVALID_ARGUMENT names a
   file that is not read. (names: of the files; data: the files, one after the other; ends: where each ends in data) */
LOOM_API loom_status loom_model_from_files(const char* const* names, size_t names_count, const void* data,
    size_t data_size, const uint64_t* ends, size_t ends_count, const loom_model_options* options,
    loom_model* model);

/* Gives a JSON object: path, format, sizes, context, special tokens, what is missing. */
LOOM_API loom_status loom_model_info(loom_model model, loom_blob* info);

/* Gives the model's tokenizer; NOT_FOUND, or why it cannot be read. */
LOOM_API loom_status loom_model_tokenizer(loom_model model, loom_tokenizer* tokenizer);

/* Writes messages as the model's chat template has them: a JSON list of objects with role and content. */
LOOM_API loom_status loom_model_render_chat(loom_model model, const void* messages, size_t messages_size,
    int32_t add_generation_prompt, loom_blob* text);

/* Gives a JSON list of a model's adapters: name (that of their folder's place among the options, "0"), rank, alpha,
   matrices, parameters. */
LOOM_API loom_status loom_model_adapters(loom_model model, loom_blob* list);

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

/* Applies these adapters of the model from now on, and no others. All sequences are then empty. (all: every adapter
   that the model has counts, whatever names says) */
LOOM_API loom_status loom_session_choose_adapters(loom_session session, const char* const* names,
    size_t names_count, int32_t all);

/* Scores a text: a JSON object with the perplexity and the mean of each window. The session's first sequence is
   cleared. (window: tokens; 0: 512; max_windows: 0: the whole text) */
LOOM_API loom_status loom_session_perplexity(loom_session session, const void* text, size_t text_size,
    uint64_t window, uint64_t max_windows, loom_cancel cancel, loom_blob* result);

/* ---- generation ---- */
/* A generator keeps its session alive and works in its first sequence. Other sequences may be used between two
   steps; a first sequence that others have changed ends the generation with INVALID_STATE. The last token that was
   drawn is in the text and not in the session. */

/* Creates a generator that continues the sequence with the given ids. Nothing is read yet. */
LOOM_API loom_status loom_generator_create(loom_session session, const int32_t* prompt, size_t prompt_count,
    const loom_generation_options* options, loom_generator* generator);

/* Creates a generator from a text or a conversation. CONTEXT_FULL for a prompt of more than 4 times the tokens that
   the session holds. */
LOOM_API loom_status loom_generator_from_text(loom_session session, const void* text, size_t text_size,
    loom_prompt_form form, const loom_generation_options* options, loom_generator* generator);

/* Returns what a generator would read, as JSON: prompt, a text, and its ids, prompt_tokens and dropped_bytes. The
   options count from plain_text on. CONTEXT_FULL beyond 4 times the context that the model was trained for. */
LOOM_API loom_status loom_model_prompt(loom_model model, const void* text, size_t text_size, loom_prompt_form form,
    const loom_generation_options* options, loom_blob* prompt);

/* Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled. At
   the end it does nothing. */
LOOM_API loom_status loom_generator_next(loom_generator generator, loom_cancel cancel, loom_step* step);

/* Gives the generation so far. */
LOOM_API loom_status loom_generator_result(loom_generator generator, loom_generation* result);

/* Gives a JSON list with an object per drawn token: id, logprob (natural logarithm, before temperature and cuts) and
   top, the best tokens by the same. INVALID_STATE where the option logprobs is 0. */
LOOM_API loom_status loom_generator_logprobs(loom_generator generator, loom_blob* logprobs);

/* ---- chat ---- */
/* Messages in, answers out. The session holds the tokens of the conversation so far, and a message feeds only what
   it does not hold yet; its first sequence belongs to the chat while an answer runs. */

/* Begins a conversation; NO_TEMPLATE for a model without a chat template. (system: message that it begins with;
   NULL: none; options: of every answer) */
LOOM_API loom_status loom_chat_create(loom_session session, const char* system,
    const loom_generation_options* options, loom_chat* chat);

/* Adds a message of the user and begins the answer. After an error the conversation is as before. */
LOOM_API loom_status loom_chat_say(loom_chat chat, const void* text, size_t text_size, loom_cancel cancel);

/* Begins an answer to the messages as they stand. */
LOOM_API loom_status loom_chat_answer(loom_chat chat, loom_cancel cancel);

/* Does one bounded piece of work, as loom_generator_next(). With the last one the answer joins the conversation,
   also when the cancel ended it early. */
LOOM_API loom_status loom_chat_next(loom_chat chat, loom_cancel cancel, loom_step* step);

/* Ends an answer that runs; what it has said so far joins the conversation. */
LOOM_API loom_status loom_chat_stop(loom_chat chat);

/* Gives the answer that runs, or the last one. */
LOOM_API loom_status loom_chat_result(loom_chat chat, loom_generation* result);

/* Like loom_generator_logprobs(), for the answer that runs, or the last one. */
LOOM_API loom_status loom_chat_logprobs(loom_chat chat, loom_blob* logprobs);

/* Gives the conversation as JSON: a list of messages with role and content. */
LOOM_API loom_status loom_chat_messages(loom_chat chat, loom_blob* messages);

/* Puts another conversation in its place. */
LOOM_API loom_status loom_chat_set_messages(loom_chat chat, const void* messages, size_t messages_size);

/* Keeps the first so many messages. */
LOOM_API loom_status loom_chat_rewind(loom_chat chat, uint64_t count);

/* Gives a message another text and forgets what follows. */
LOOM_API loom_status loom_chat_edit(loom_chat chat, uint64_t index, const void* text, size_t text_size);

/* Writes the conversation into a file, whole or not at all. INVALID_ARGUMENT for a file that exists and holds no
   conversation. */
LOOM_API loom_status loom_chat_save(loom_chat chat, const char* path);

/* Reads a conversation from a file. */
LOOM_API loom_status loom_chat_load(loom_chat chat, const char* path);

/* ---- networks ---- */
/* Cells stand in a grid and are addressed as {z, y, x, l}. Names of weights are paths: "layers.0.weight". Layers are
   described in docs/reference/layers.md. */

/* Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring are drawn from its
   seed. */
LOOM_API loom_status loom_network_from_json(const void* json, size_t json_size,
    const loom_network_options* options, loom_network* network);

/* Makes a transformer of an arch_config. */
LOOM_API loom_status loom_network_from_arch(const void* json, size_t json_size, loom_network* network);

/* Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x, a graph in ONNX as one cell. */
LOOM_API loom_status loom_network_open(const char* path, const loom_network_options* options, loom_network* network);

/* Like loom_network_open(), for bytes. */
LOOM_API loom_status loom_network_from_memory(const void* data, size_t data_size,
    const loom_network_options* options, loom_network* network);

/* Makes a copy that shares nothing which can change. */
LOOM_API loom_status loom_network_clone(loom_network network, loom_network* copy);

/* Makes a network of one parallel cell whose branches are copies of cell 0 of each network. (combine_mode: concat,
   add, avg, ..., as of the kind parallel; share: the copies stand in cells of their own, which the branches link to) */
LOOM_API loom_status loom_network_graft(const loom_network* networks, size_t networks_count,
    const char* combine_mode, int32_t share, loom_network* grafted);

/* Writes a file, whole or not at all: .json a checkpoint, everything else .entity. INVALID_ARGUMENT for the ending
   of another format, and for a file that exists and holds no network. (keep_master: exact masters beside packed
   weights, for further training) */
LOOM_API loom_status loom_network_save(loom_network network, const char* path, int32_t keep_master);

/* Like loom_network_save(), as bytes. (keep_master: of FORMAT_ENTITY) */
LOOM_API loom_status loom_network_to_bytes(loom_network network, loom_network_format format, int32_t keep_master,
    loom_blob* bytes);

/* Gives the spec as JSON: every setting that is not the default, without weights. Widths have the names of other
   frameworks: in_features, out_features, hidden_size and the like. */
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

/* Puts a layer, a JSON object as in a spec, into a cell, replacing the layer in it; its weights are drawn. The next
   forward of a session plans it again; step meshes of the network answer INVALID_STATE from then on. (address: z, y,
   x, l; layer: of size 0: the cell becomes empty) */
LOOM_API loom_status loom_network_place(loom_network network, const uint64_t* address, size_t address_count,
    const void* layer, size_t layer_size);

/* Gives the matrices another numeric type. Masters stay exact. The next forward of a session plans it again. (path:
   a layer and all below it, "layers.3"; NULL: all) */
LOOM_API loom_status loom_network_morph(loom_network network, const char* path, const char* dtype);

/* Frees the exact masters of weights whose type holds their values. */
LOOM_API loom_status loom_network_release_masters(loom_network network);

/* Adds every enabled adapter to its matrix and removes it. */
LOOM_API loom_status loom_network_merge_adapters(loom_network network);

/* Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen, master. */
LOOM_API loom_status loom_network_weights(loom_network network, loom_blob* list);

/* Fills a tensor with the values of a weight, as float32 or float64. Its size must be that of the weight. (values:
   memory to fill; a shape must be that of the weight, or none) */
LOOM_API loom_status loom_network_get_weight(loom_network network, const char* name, const loom_tensor* values);

/* Sets the values of a weight. NON_FINITE names the first that is not finite. (values: float32 or float64; a shape
   must be that of the weight, or none) */
LOOM_API loom_status loom_network_set_weight(loom_network network, const char* name, const loom_tensor* values);

/* Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64. */
LOOM_API loom_status loom_network_weight_codes(loom_network network, const char* name, loom_blob* codes);

/* Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL: all) */
LOOM_API loom_status loom_network_freeze(loom_network network, const char* path, int32_t frozen);

/* Gives the flat index of a cell. (address: z, y, x, l) */
LOOM_API loom_status loom_network_index(loom_network network, const uint64_t* address, size_t address_count,
    uint64_t* index);

/* Gives the layer of a cell, a JSON object as in a spec, without weights; NOT_FOUND for an empty cell. (address: z,
   y, x, l) */
LOOM_API loom_status loom_network_layer(loom_network network, const uint64_t* address, size_t address_count,
    loom_blob* layer);

/* Gives the structure of a network, a JSON object: every layer, nested ones included, with exact counts of
   parameters and bytes. */
LOOM_API loom_status loom_network_blueprint(loom_network network, loom_blob* blueprint);

/* Groups a network's weights by the layer and block in their names ("layers.3.self_attn"). A JSON object: groups, a
   list of prefix, layer, block and tensors, and unresolved, the names without such a prefix with the reason. */
LOOM_API loom_status loom_network_groups(loom_network network, loom_blob* groups);

/* Like loom_file_export(), for a network with its present weights. (path: FILE.onnx or FILE.safetensors) */
LOOM_API loom_status loom_network_export(loom_network network, const char* path,
    const loom_file_export_options* options, loom_blob* report);

/* ---- network sessions ---- */
/* Inputs and outputs are row-major, samples first. A session prepares its network where no call has done so before. */

/* Makes a session. */
LOOM_API loom_status loom_network_session_create(loom_network network, const loom_network_session_options* options,
    loom_network_session* session);

/* Runs the network. The output lasts until the next call with the session. (input: of the element in which the
   network computes, samples first) */
LOOM_API loom_status loom_network_session_forward(loom_network_session session, const loom_tensor* input,
    const loom_pass* pass, loom_tensor* output);

/* Names the memory of the caller that loom_network_session_run() reads and fills. It must last as long as it is
   bound. (input: NULL unbinds both; output: memory to fill; a shape must be that of the output, or none) */
LOOM_API loom_status loom_network_session_bind(loom_network_session session, const loom_tensor* input,
    const loom_tensor* output);

/* Runs the network from the bound input into the bound output. */
LOOM_API loom_status loom_network_session_run(loom_network_session session);

/* Runs the backward pass after a forward of a session with `backward`: adds to the gradients of the weights and
   gives that of the input, which lasts until the next call. (output_gradient: as many values as the last output) */
LOOM_API loom_status loom_network_session_backward(loom_network_session session,
    const loom_tensor* output_gradient, loom_cancel cancel, loom_tensor* input_gradient);

/* Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
   memory to fill; a shape must be that of the weight, or none) */
LOOM_API loom_status loom_network_session_gradient(loom_network_session session, const char* weight,
    const loom_tensor* values);

/* Sets every gradient to 0. */
LOOM_API loom_status loom_network_session_clear_gradients(loom_network_session session);

/* Resets every sequence and state. */
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
/* A config is the JSON of docs/guide/training.md, with the keys of one step: loss, optimizer, learning_rate,
   schedule, clip_norm, tween, mixed and so on. */

/* Makes a network ready to learn from batches of that shape, samples first. Nobody else may change the network while
   it learns; calls that try answer BUSY, and a changed grid ends the training. */
LOOM_API loom_status loom_trainer_create(loom_network network, const void* config, size_t config_size,
    const uint64_t* shape, size_t shape_count, const loom_compute_options* options, loom_trainer* trainer);

/* Learns from one batch. (cancel: ends the step with CANCELLED; everything is then as before) */
LOOM_API loom_status loom_trainer_step(loom_trainer trainer, const loom_batch* batch, loom_cancel cancel,
    loom_training_step* step);

/* Gives the loss of a batch and the output, which lasts until the next call; no weight changes. */
LOOM_API loom_status loom_trainer_evaluate(loom_trainer trainer, const loom_batch* batch, double* loss,
    loom_tensor* output);

/* Sets the epoch, from 0, for schedules that count epochs. */
LOOM_API loom_status loom_trainer_set_epoch(loom_trainer trainer, uint64_t epoch);

/* Gives the schedule "plateau" a validation metric. */
LOOM_API loom_status loom_trainer_observe(loom_trainer trainer, double metric);

/* Runs a whole training by a config in JSON: data, epochs, validation, checkpoints, journal. The outcome is a JSON
   object: stop reason, losses by epoch, hash, metrics. (network: learns where it is; 0: the config names one;
   samples: in place of the config's data; NULL: it names files; validation: in place of the config's own) */
LOOM_API loom_status loom_training_run(const void* config, size_t config_size, loom_network network,
    const loom_batch* samples, const loom_batch* validation, const loom_training_options* options,
    loom_blob* outcome);

/* Like loom_training_run(), for a config file. */
LOOM_API loom_status loom_training_run_file(const char* path, const loom_training_options* options,
    loom_blob* outcome);

/* Does the run of a journal again and compares every hash, loss and metric; CORRUPT_DATA names the first line that
   differs. (path: a run's folder, or its journal) */
LOOM_API loom_status loom_training_replay(const char* path, const loom_training_options* options, loom_blob* report);

/* Opens a config in JSON, with its data and network, to compute gradients for a training of the same config
   elsewhere, whose callback on_shards asks for them. UNSUPPORTED with the reason where its steps cannot be divided.
   (options: folder and compute; other fields must be 0) */
LOOM_API loom_status loom_replica_create(const void* config, size_t config_size,
    const loom_training_options* options, loom_replica* replica);

/* Takes over a step: what on_shards was given. */
LOOM_API loom_status loom_replica_begin(loom_replica replica, uint64_t epoch, uint64_t position, uint64_t step,
    double loss_scale, const void* masters, size_t masters_size);

/* Gives the sum of the gradients of shards [first, first + count), and their share in the loss, which is not finite
   where the step has to be skipped. The count is a power of two that divides first, or reaches up to the last shard:
   a node of the tree that adds all shards. */
LOOM_API loom_status loom_replica_sum(loom_replica replica, uint64_t first, uint64_t count, double* loss,
    loom_blob* gradients);

/* Gives a JSON object: shards, gradient_bytes, batches of an epoch, SHA-256 of the data. */
LOOM_API loom_status loom_replica_info(loom_replica replica, loom_blob* info);

/* Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the figures of each cell's
   target. */
LOOM_API loom_status loom_trainer_info(loom_trainer trainer, loom_blob* info);

/* ---- tween ---- */
/* Target propagation in single calls: forward, backward, budgets, apply. A trainer with the key `tween` does whole
   steps. Options are the JSON of docs/guide/tween.md. */

/* Makes a network ready to learn by targets from batches of that shape. */
LOOM_API loom_status loom_tween_create(loom_network network, const void* config, size_t config_size,
    const uint64_t* shape, size_t shape_count, const loom_compute_options* options, loom_tween* tween);

/* Runs the network; the output lasts until the next call. (input: of the element in which the network computes,
   samples first) */
LOOM_API loom_status loom_tween_forward(loom_tween tween, const loom_tensor* input, loom_tensor* output);

/* Runs the rest of a step after a forward: gaps, budgets, updates. (target: as many values as the output) */
LOOM_API loom_status loom_tween_step(loom_tween tween, const loom_tensor* target, double learning_rate);

/* Gives every cell its target, the first of the three calls that loom_tween_step() makes. (target: as many values as
   the output) */
LOOM_API loom_status loom_tween_backward(loom_tween tween, const loom_tensor* target);

/* Measures how well each cell agrees with its target. */
LOOM_API loom_status loom_tween_budgets(loom_tween tween);

/* Moves the weights. */
LOOM_API loom_status loom_tween_apply(loom_tween tween, double learning_rate);

/* Gives a JSON object: the gap of the output, and of each use of a layer gap, budget and size of the update. */
LOOM_API loom_status loom_tween_info(loom_tween tween, loom_blob* info);

/* ---- step meshes ---- */
/* Input and outputs are row-major, of the shapes that the network was prepared for. States of one mesh are
   independent; a mesh does one call at a time. */

/* Prepares a network for ticks with such inputs, samples first. */
LOOM_API loom_status loom_step_mesh_create(loom_network network, const uint64_t* shape, size_t shape_count,
    const loom_step_mesh_options* options, loom_step_mesh* mesh);

/* Moves states by some ticks; after an error none of them has moved in that tick. */
LOOM_API loom_status loom_step_mesh_step(loom_step_mesh mesh, const loom_step_state* states, size_t states_count,
    const loom_tick_options* options);

/* Goes back through captured ticks from a gradient of the last cell's output: adds to the gradients of the weights
   and gives that of the input of the newest tick, which lasts until the next call with the mesh; without data where
   that tick had no input. (output_gradient: as many values as the output; ticks: at most; 0: all) */
LOOM_API loom_status loom_step_mesh_backward(loom_step_mesh mesh, loom_step_state state,
    const loom_tensor* output_gradient, uint64_t ticks, loom_tensor* input_gradient);

/* Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
   memory to fill; a shape must be that of the weight, or none) */
LOOM_API loom_status loom_step_mesh_gradient(loom_step_mesh mesh, const char* weight, const loom_tensor* values);

/* Sets every gradient to 0. */
LOOM_API loom_status loom_step_mesh_clear_gradients(loom_step_mesh mesh);

/* Gives a JSON object: cells, memory of a state, what a cell waits for that can never start. */
LOOM_API loom_status loom_step_mesh_info(loom_step_mesh mesh, loom_blob* info);

/* Makes a state without outputs. */
LOOM_API loom_status loom_step_state_create(loom_step_mesh mesh, loom_step_state* state);

/* Sets the input of the first cell. (input: as many values as the mesh's input, of the element in which the network
   computes; hold: until it is replaced; 0: for the next tick alone) */
LOOM_API loom_status loom_step_state_set_input(loom_step_state state, const loom_tensor* input, int32_t hold);

/* Removes the input. */
LOOM_API loom_status loom_step_state_clear_input(loom_step_state state);

/* Gives the output of a cell in the last tick, until the next call with the mesh; NO_VALUE before data has reached
   it. (cell: its index; -1: the last one) */
LOOM_API loom_status loom_step_state_output(loom_step_state state, int64_t cell, loom_tensor* output);

/* No input, no outputs, no history, tick 0. */
LOOM_API loom_status loom_step_state_reset(loom_step_state state);

/* Creates an independent copy. */
LOOM_API loom_status loom_step_state_fork(loom_step_state state, loom_step_state* copy);

/* Gives the whole state as bytes that any machine reads. */
LOOM_API loom_status loom_step_state_snapshot(loom_step_state state, loom_blob* bytes);

/* Puts a snapshot into a state of a mesh of the same shapes. */
LOOM_API loom_status loom_step_state_restore(loom_step_state state, const void* bytes, size_t bytes_size);

/* Gives the SHA-256 of the whole state as text, 64 hexadecimal digits. */
LOOM_API loom_status loom_step_state_hash(loom_step_state state, loom_blob* hash);

/* Gives the number of ticks since the start. */
LOOM_API loom_status loom_step_state_ticks(loom_step_state state, uint64_t* ticks);

/* Makes a mesh that was created with keep_inputs ready to learn by targets. (ticks: 0: through the last tick alone;
   above: through so many captured ones) */
LOOM_API loom_status loom_mesh_tween_create(loom_step_mesh mesh, const void* config, size_t config_size,
    uint64_t ticks, loom_mesh_tween* tween);

/* Moves all weights once towards targets of the last cell's outputs, one state's after another. (targets: for each
   state as many values as the output) */
LOOM_API loom_status loom_mesh_tween_step(loom_mesh_tween tween, const loom_step_state* states,
    size_t states_count, const loom_tensor* targets, double learning_rate);

/* ---- evolution ---- */
/* Signatures, crosses, mutations and populations (docs/guide/evolution.md). */

/* Gives a network's signatures as JSON: by layer the direction of its weights. (nested: layers inside containers
   too) */
LOOM_API loom_status loom_dna_extract(loom_network network, int32_t nested, loom_blob* dna);

/* Compares two networks layer by layer, a JSON object: overlaps, logic shifts, layers of one alone. */
LOOM_API loom_status loom_dna_compare(loom_network first, loom_network second, int32_t nested, loom_blob* comparison);

/* Gives that as a picture, SVG. */
LOOM_API loom_status loom_dna_draw(loom_network first, loom_network second, int32_t nested, loom_blob* svg);

/* Gives what differs between the specs and weights of two networks, a JSON object. */
LOOM_API loom_status loom_network_compare(loom_network first, loom_network second, loom_blob* differences);

/* Makes a child of two networks. The config is a JSON object: mode blend, point or uniform, blend_alpha,
   split_ratio, fitness_a, fitness_b, seed. (config: of size 0: all defaults) */
LOOM_API loom_status loom_network_splice(loom_network first, loom_network second, const void* config,
    size_t config_size, loom_network* child);

/* Changes a network at random; its output keeps its shape. The config is the object `mutation` of an evolution, and
   seed, generation, individual. The report says what was done. (shape: of the input, samples first; config: of size
   0: all defaults) */
LOOM_API loom_status loom_network_mutate(loom_network network, const uint64_t* shape, size_t shape_count,
    const void* config, size_t config_size, loom_blob* report);

/* Runs a whole evolution by a config in JSON. The outcome is a JSON object. */
LOOM_API loom_status loom_evolution_run(const void* config, size_t config_size,
    const loom_evolution_options* options, loom_blob* outcome);

/* Like loom_evolution_run(), for a config file. */
LOOM_API loom_status loom_evolution_run_file(const char* path, const loom_evolution_options* options,
    loom_blob* outcome);

/* Opens the task of a config in JSON, with its data, to judge the networks of an evolution of the same config
   elsewhere, whose callback on_judging asks for it. (options: folder and compute; other fields must be 0) */
LOOM_API loom_status loom_judge_create(const void* config, size_t config_size,
    const loom_evolution_options* options, loom_judge* judge);

/* Judges a network, given as a file (.entity), and gives its numbers for on_judging: objectives, and what novelty
   goes by. They last until the next call. */
LOOM_API loom_status loom_judge_fitness(loom_judge judge, const void* network, size_t network_size,
    const double** numbers, size_t* numbers_count);

/* Gives a JSON object: `identity`, all that a run is a function of, with the SHA-256 of its files. */
LOOM_API loom_status loom_judge_info(loom_judge judge, loom_blob* info);

/* Makes the first generation: mutations of a network. The config is a JSON object: population, elites, seed,
   objectives, mutation, splice, species, novelty. (shape: of the input, samples first; config: of size 0: all
   defaults; compute: threads, thread_count and isa; NULL: defaults) */
LOOM_API loom_status loom_population_create(loom_network base, const uint64_t* shape, size_t shape_count,
    const void* config, size_t config_size, const loom_compute_options* compute, loom_population* population);

/* Gives the places of the members without a fitness, until the next call with the population. */
LOOM_API loom_status loom_population_ask(loom_population population, const uint64_t** places, size_t* places_count);

/* Gives a copy of a member. */
LOOM_API loom_status loom_population_network(loom_population population, uint64_t place, loom_network* network);

/* Takes the fitness of those members, more is better, NaN ranks last, and breeds the next generation. With several
   objectives all numbers of a member stand together. The report is a JSON object: scores, best, average, worst,
   hash. */
LOOM_API loom_status loom_population_tell(loom_population population, const double* fitness, size_t fitness_count,
    loom_blob* report);

/* Gives a copy of the network with the best score so far; NO_VALUE before the first generation. */
LOOM_API loom_status loom_population_best(loom_population population, loom_network* network);

/* Gives a JSON object: generation, best score, members with identity, parents, operations, species. */
LOOM_API loom_status loom_population_info(loom_population population, loom_blob* info);

/* Gives a population as bytes, to go on from elsewhere. */
LOOM_API loom_status loom_population_snapshot(loom_population population, loom_blob* bytes);

/* Makes a population of a snapshot; config and shape are those it was made with. (compute: threads, thread_count and
   isa; NULL: defaults) */
LOOM_API loom_status loom_population_restore(const void* bytes, size_t bytes_size, const uint64_t* shape,
    size_t shape_count, const void* config, size_t config_size, const loom_compute_options* compute,
    loom_population* population);

/* Groups points around centres (k-means by Lloyd's rounds, in double precision). A JSON object: assignment, the
   cluster of each point, centres, iterations, converged. (points: row-major, one point after the other; count: of
   points; clusters: 1 to count; max_iterations: 0: 100; plus_plus: starts far apart (k-means++); 0: drawn points;
   seed: of the draws) */
LOOM_API loom_status loom_points_cluster(const double* points, size_t points_count, uint64_t count,
    uint64_t clusters, uint64_t max_iterations, int32_t plus_plus, uint64_t seed, loom_blob* result);

/* Gives the mean silhouette of a clustering, -1 to 1: how much nearer points are to their own cluster than to the
   next one. (points: row-major, one point after the other; count: of points; assignment: the cluster of each point;
   at least two clusters) */
LOOM_API loom_status loom_points_silhouette(const double* points, size_t points_count, uint64_t count,
    const uint64_t* assignment, size_t assignment_count, double* value);

/* Groups points that steps of at most such a cosine distance link (single linkage). A JSON list of lists of points,
   in order of their first ones. (points: row-major, one point after the other; count: of points; threshold: 0 to 2) */
LOOM_API loom_status loom_points_group(const double* points, size_t points_count, uint64_t count, double threshold,
    loom_blob* groups);

/* Finds models that complete each other: pairs whose cases that one of them gets right are at least such a part of
   all. A JSON list of {a, b, coverage, overlap, cosine}, the best first; cosine is that of
   loom_matches_similarity(). (right: a byte per case, 0 or 1, model by model) */
LOOM_API loom_status loom_matches_find(const void* right, size_t right_size, uint64_t models, double min_coverage,
    loom_blob* matches);

/* Gives the cosine of two models' right cases, as vectors of 0 and 1: 1 where both get the same ones right, 0 where
   they have none in common. (first: a byte per case, 0 or 1; second: as many) */
LOOM_API loom_status loom_matches_similarity(const void* first, size_t first_size, const void* second,
    size_t second_size, double* cosine);

/* ---- layer kinds ---- */
/* A custom layer kind (docs/internals/adding.md). Its callbacks name ops on tensors and see no number, so that a
   layer of it has the same bits on every machine, in every type of weights and in every way a network runs. A tensor
   id is valid during one call of a callback. After an error, later functions in that callback return the same error,
   and the layer has it, whatever the callback returns. */

/* Adds a layer kind to those of this process. The description is a JSON object: name, help, shapes, width_key,
   sample_axes, and settings, a list of key, type (integer, number, boolean, choice, activation), default, min, max,
   choices, help. INVALID_ARGUMENT for a name that is taken. */
LOOM_API loom_status loom_layer_kind_register(const void* description, size_t description_size,
    const loom_kind_callbacks* callbacks);

/* Takes the kind back: no callback of it comes from then on. INVALID_STATE while a network with a layer of it lives. */
LOOM_API loom_status loom_layer_kind_unregister(const char* name);

/* Gives a setting of the layer: an integer, a number, 0 or 1, the index of a choice. */
LOOM_API loom_status loom_layer_setting(loom_layer layer, const char* key, double* value);

/* In declare: adds a weight, a vector or, with two extents, a matrix, whose rows are outputs. A fresh one is filled
   by a rule. (init: zeros, ones, glorot, he, uniform, normal or identity; NULL: glorot for matrices, zeros for
   vectors; size: half width of uniform, deviation of normal; 0: 0.1 and 0.02) */
LOOM_API loom_status loom_layer_declare_weight(loom_layer layer, const char* name, const uint64_t* extents,
    size_t extents_count, const char* init, double size);

/* Gives what comes in: the layer's input in forward, the gradient of its output in backward. Axis 0 counts samples
   in this tensor and in all that are computed from it; it keeps its place. */
LOOM_API loom_status loom_layer_input(loom_layer layer, uint64_t* x);

/* Names what goes out: the output in forward, the gradient of the input in backward. */
LOOM_API loom_status loom_layer_result(loom_layer layer, uint64_t tensor);

/* In forward: keeps a tensor for backward. */
LOOM_API loom_status loom_layer_keep(loom_layer layer, uint64_t tensor);

/* In backward: gives what forward kept, the last one first. Every kept tensor must be taken. */
LOOM_API loom_status loom_layer_kept(loom_layer layer, uint64_t* tensor);

/* Gives the extents of a tensor; SHAPE_MISMATCH where there is no room for them. */
LOOM_API loom_status loom_layer_shape(loom_layer layer, uint64_t tensor, uint64_t* extents, size_t extents_count,
    uint64_t* rank);

/* y = W x + b along the last axis, with the bits of a dense layer in every type of W. */
LOOM_API loom_status loom_layer_matmul(loom_layer layer, uint64_t x, const char* weight, const char* bias,
    uint64_t* y);

/* dx = W^T dy; adds to the gradients of W and b. */
LOOM_API loom_status loom_layer_matmul_gradient(loom_layer layer, uint64_t x, uint64_t dy, const char* weight,
    const char* bias, uint64_t* dx);

/* y = left right over the last two axes of two tensors whose other axes are equal, either of them transposed. Its
   gradients are products too. */
LOOM_API loom_status loom_layer_product(loom_layer layer, uint64_t left, int32_t transpose_left, uint64_t right,
    int32_t transpose_right, uint64_t* y);

/* y = left + right; equal shapes. */
LOOM_API loom_status loom_layer_add(loom_layer layer, uint64_t left, uint64_t right, uint64_t* y);

/* y = left right, element by element; equal shapes. */
LOOM_API loom_status loom_layer_multiply(loom_layer layer, uint64_t left, uint64_t right, uint64_t* y);

/* y = x times a factor. */
LOOM_API loom_status loom_layer_scale(loom_layer layer, uint64_t x, double factor, uint64_t* y);

/* Gives a tensor of the shape of another one with one value everywhere. */
LOOM_API loom_status loom_layer_fill(loom_layer layer, uint64_t like, double value, uint64_t* y);

/* y = activation(x). (activation: the key of a setting of that type, or a name) */
LOOM_API loom_status loom_layer_activate(loom_layer layer, uint64_t x, const char* activation, uint64_t* y);

/* dx = dy times the activation's derivative at x. (activation: the key of a setting of that type, or a name) */
LOOM_API loom_status loom_layer_activate_gradient(loom_layer layer, uint64_t x, uint64_t dy,
    const char* activation, uint64_t* dx);

/* y = activation(gate) up, with the bits of swiglu. (activation: the key of a setting of that type, or a name) */
LOOM_API loom_status loom_layer_gated(loom_layer layer, uint64_t gate, uint64_t up, const char* activation,
    uint64_t* y);

/* The gradients of both. (activation: the key of a setting of that type, or a name) */
LOOM_API loom_status loom_layer_gated_gradient(loom_layer layer, uint64_t gate, uint64_t up, uint64_t dy,
    const char* activation, uint64_t* dgate, uint64_t* dup);

/* p = softmax(x / temperature) along the last axis. */
LOOM_API loom_status loom_layer_softmax(loom_layer layer, uint64_t x, double temperature, uint64_t* p);

/* dx from what softmax gave. */
LOOM_API loom_status loom_layer_softmax_gradient(loom_layer layer, uint64_t p, uint64_t dy, double temperature,
    uint64_t* dx);

/* y = x / sqrt(mean of x^2 + eps) gamma along the last axis. (eps: 0 to 1) */
LOOM_API loom_status loom_layer_rms_norm(loom_layer layer, uint64_t x, const char* gamma, double eps, uint64_t* y);

/* dx; adds to the gradient of gamma. */
LOOM_API loom_status loom_layer_rms_norm_gradient(loom_layer layer, uint64_t x, uint64_t dy, const char* gamma,
    double eps, uint64_t* dx);

/* y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. (eps: 0 to 1) */
LOOM_API loom_status loom_layer_layer_norm(loom_layer layer, uint64_t x, const char* gamma, const char* beta,
    double eps, uint64_t* y);

/* dx; adds to the gradients of gamma and beta. */
LOOM_API loom_status loom_layer_layer_norm_gradient(loom_layer layer, uint64_t x, uint64_t dy, const char* gamma,
    const char* beta, double eps, uint64_t* dx);

/* y is x with its axes in another order: axis i of y is axis axes[i] of x. */
LOOM_API loom_status loom_layer_permute(loom_layer layer, uint64_t x, const uint64_t* axes, size_t axes_count,
    uint64_t* y);

/* y is x with other extents. */
LOOM_API loom_status loom_layer_reshape(loom_layer layer, uint64_t x, const uint64_t* extents,
    size_t extents_count, uint64_t* y);

/* y is [first, first + count) of an axis of x. Its gradient is that of pad, and the reverse. */
LOOM_API loom_status loom_layer_slice(loom_layer layer, uint64_t x, uint64_t axis, uint64_t first, uint64_t count,
    uint64_t* y);

/* y is x at `first` of an axis of another extent, zeros elsewhere. */
LOOM_API loom_status loom_layer_pad(loom_layer layer, uint64_t x, uint64_t axis, uint64_t first, uint64_t extent,
    uint64_t* y);

/* y is x, whose axis has the extent 1, as often along that axis. Its gradient is the mean, times as often. */
LOOM_API loom_status loom_layer_repeat(loom_layer layer, uint64_t x, uint64_t axis, uint64_t times, uint64_t* y);

/* y is the mean of x along an axis, which has the extent 1 then. Its gradient is the repeat of dy over as many. */
LOOM_API loom_status loom_layer_mean(loom_layer layer, uint64_t x, uint64_t axis, uint64_t* y);

/* y is x with elements left out at that rate while a network trains, else x. Its gradient is the same of dy. (which:
   number of the dropout within the layer) */
LOOM_API loom_status loom_layer_dropout(loom_layer layer, uint64_t x, double rate, uint32_t which, uint64_t* y);

/* y has the shape of a tensor and holds a weight's values in each of its samples, as often as they fit. */
LOOM_API loom_status loom_layer_weight(loom_layer layer, const char* name, uint64_t like, uint64_t* y);

/* In backward: adds the sum of such pieces of a tensor to a weight's gradient. */
LOOM_API loom_status loom_layer_add_gradient(loom_layer layer, const char* name, uint64_t tensor);

/* Gives how the kernels of a layer kind divide its work, a JSON object: kind, dtype, isa, cpu (rows and outputs that
   go together) and gpu (few_rows, few and many: rows and outputs of a workgroup), null where the kind runs on the
   CPU alone in that type. No bit depends on it. (kind: dense, swiglu, rnn, lstm, mha, gru, cnn1 to cnn3,
   convtransposed1 to convtransposed3, or attention; dtype: of the weights; isa: an instruction set by name; NULL:
   the best one) */
LOOM_API loom_status loom_layer_kind_tiles(const char* kind, const char* dtype, const char* isa, loom_blob* sizes);

/* ---- files ---- */
/* Files of models and networks. */

/* Gives what a file holds, a JSON object: a language model, a network, a checkpoint. (tensors: lists the tensors of
   a language model) */
LOOM_API loom_status loom_file_inspect(const char* path, int32_t tensors, loom_blob* facts);

/* Writes a GGUF file with the matrices of another one in a type, whole or not at all. */
LOOM_API loom_status loom_file_quantize(const char* from, const char* to, const char* dtype,
    const loom_file_convert_options* options, loom_blob* report);

/* Writes a language model of any format as .entity, whole or not at all. */
LOOM_API loom_status loom_file_convert(const char* from, const char* to, const loom_file_convert_options* options,
    loom_blob* report);

/* Gives the JSON Schema of a file that Loom reads. */
LOOM_API loom_status loom_file_schema(loom_schema_kind file, loom_blob* json);

/* Opens a file or folder: a network (.entity, JSON, safetensors, .npz, Loom 0.8x), a language model (GGUF, a Hugging
   Face folder, .entity), a text encoder (the folder of a BERT) or a graph (.onnx, .entity). loom_kind_of() gives the
   kind of the handle. The report is a JSON object: kind, format, where each tensor of a bare file went, warnings. */
LOOM_API loom_status loom_file_open(const char* path, const loom_file_open_options* options, loom_handle* object,
    loom_blob* report);

/* Writes what one file holds as another: a network as .onnx or .safetensors, a language model as .gguf or as a
   Hugging Face folder. UNSUPPORTED, before a byte is written, names what the format cannot express. The report is a
   JSON object: format, bytes, tensors or nodes, SHA-256. */
LOOM_API loom_status loom_file_export(const char* from, const char* to, const loom_file_export_options* options,
    loom_blob* report);

/* Gives the SHA-256 of a file's bytes, of the files of a model's folder, or the root hash of an .entity, as text: 64
   hexadecimal digits. A file that has not changed since is not read again. */
LOOM_API loom_status loom_file_hash(const char* path, loom_blob* hash);

/* ---- receipts ---- */
/* Proofs of results: hashes of the model and of all inputs, the options and the hash of the result, as JSON that
   another machine computes again (docs/guide/audit.md). UNSUPPORTED for a device of precision fast, NOT_FOUND for a
   model that came from memory. */

/* Gives the receipt of a generation that has ended; INVALID_STATE before, and for one that was cancelled. */
LOOM_API loom_status loom_generator_receipt(loom_generator generator, loom_blob* receipt);

/* Gives the receipt of the last answer that was complete; INVALID_STATE before one. */
LOOM_API loom_status loom_chat_receipt(loom_chat chat, loom_blob* receipt);

/* Gives the receipt of the last texts; INVALID_STATE before any. */
LOOM_API loom_status loom_encoder_receipt(loom_encoder encoder, loom_blob* receipt);

/* Computes what a receipt names again and compares: a JSON object with command, model, equal, difference (the first
   one, or null), hash, and the isa and device that were used: those of the receipt where this machine has them.
   (model: where the model is now; NULL: as in the receipt; folder: where relative paths start; NULL: the working
   folder; device: as in the options of a session; NULL: that of the receipt, else cpu) */
LOOM_API loom_status loom_receipt_replay(const void* receipt, size_t receipt_size, const char* model,
    const char* folder, const char* device, loom_cancel cancel, loom_blob* report);

/* ---- graphs ---- */
/* ONNX models. Tensors are read without a copy: the caller binds memory to each input, runs, and reads outputs in
   the memory of the session. Shapes may differ from run to run; equal shapes are not planned again. */

/* Reads an .onnx file, opset 7 on, or an .entity with a graph. UNSUPPORTED lists every operation that Loom lacks. */
LOOM_API loom_status loom_graph_open(const char* path, const loom_graph_options* options, loom_graph* graph);

/* Like loom_graph_open(), for bytes, which are read during the call only; they must hold every tensor. */
LOOM_API loom_status loom_graph_from_memory(const void* data, size_t data_size, const loom_graph_options* options,
    loom_graph* graph);

/* Gives a JSON object: inputs and outputs with name, type and shape ("?": any extent) as far as the file says,
   opset, operations and how often, constants and their bytes. */
LOOM_API loom_status loom_graph_info(loom_graph graph, loom_blob* info);

/* Makes a session without inputs. */
LOOM_API loom_status loom_graph_session_create(loom_graph graph, const loom_compute_options* options,
    loom_graph_session* session);

/* Names the caller's memory that runs read as an input. It must last as long as it is bound; what is in it may
   change between runs. Float32, float64 and int64 are read without a copy, other types are copied into wider ones by
   each run. A shape of no extents is that of a scalar. (name: of the input; NULL: the only one) */
LOOM_API loom_status loom_graph_session_bind(loom_graph_session session, const char* name, const loom_tensor* input);

/* Lets go of all memory that is bound. */
LOOM_API loom_status loom_graph_session_unbind(loom_graph_session session);

/* Runs the graph from the bound inputs. INVALID_ARGUMENT for an input that is not bound or of another type,
   SHAPE_MISMATCH for one of another shape. (cancel: read between operations: ends the call with CANCELLED) */
LOOM_API loom_status loom_graph_session_run(loom_graph_session session, loom_cancel cancel);

/* Gives an output of the last run without a copy; it lasts until the next call with the session that is not this
   one. INVALID_STATE before a run. (name: of the output; NULL: the only one) */
LOOM_API loom_status loom_graph_session_output(loom_graph_session session, const char* name, loom_tensor* output);

/* Copies an output of the last run, whose bytes must be as many. (output: its name; NULL: that of the only one) */
LOOM_API loom_status loom_graph_session_copy_output(loom_graph_session session, const char* output, uint8_t* to,
    size_t to_count);

/* Gives the SHA-256 of all outputs of the last run as text, 64 hexadecimal digits: equal on every machine. */
LOOM_API loom_status loom_graph_session_hash(loom_graph_session session, loom_blob* hash);

/* Gives a JSON object: threads, memory that runs work in. */
LOOM_API loom_status loom_graph_session_info(loom_graph_session session, loom_blob* info);

/* ---- encoders ---- */
/* Texts to vectors, as sentence-transformers do: tokens, a BERT, the mean of its vectors or another pooling. */

/* Loads the folder of a BERT in the layout of sentence-transformers. */
LOOM_API loom_status loom_encoder_open(const char* path, const loom_encoder_options* options, loom_encoder* encoder);

/* Gives a JSON object: dimensions, max_tokens, layers, pooling, threads. */
LOOM_API loom_status loom_encoder_info(loom_encoder encoder, loom_blob* info);

/* Gives the encoder's tokenizer. */
LOOM_API loom_status loom_encoder_tokenizer(loom_encoder encoder, loom_tokenizer* tokenizer);

/* Gives a vector per text, one after another, and the number of tokens that were read of each; both last until the
   next call with the encoder. A text's vector has the same bits alone and among others. A text is cut off after
   max_tokens. (vectors: float32 [texts, dimensions]) */
LOOM_API loom_status loom_encoder_embed(loom_encoder encoder, const char* const* texts, size_t texts_count,
    loom_cancel cancel, loom_tensor* vectors, const uint64_t** tokens, size_t* tokens_count);

/* ---- watching ---- */
/* Events and statistics of the layers of a pass (docs/guide/telemetry.md). A watch changes no bit of any result, and
   lasts until another takes its place or NULL ends it. */

/* Calls the host after each layer of the session's passes. */
LOOM_API loom_status loom_network_session_watch(loom_network_session session, loom_on_layer layer, void* user);

/* Calls the host after each window of `layers` layers, with their statistics. (layers: at least 1) */
LOOM_API loom_status loom_network_session_watch_windows(loom_network_session session, uint64_t layers,
    loom_on_window window, void* user);

/* Sends a report of every layer to a host that listens, by a thread that no pass waits for: "http://HOST:PORT/PATH"
   takes a POST of JSON each, "tanhi://HOST:PORT" a datagram; NULL ends it. */
LOOM_API loom_status loom_network_session_report_to(loom_network_session session, const char* address);

/* Calls the host after each layer of the steps of a trainer, forward and backward. UNSUPPORTED where several shards
   run side by side. */
LOOM_API loom_status loom_trainer_watch(loom_trainer trainer, loom_on_layer layer, void* user);

/* Like loom_network_session_watch_windows(), for a trainer. (layers: at least 1) */
LOOM_API loom_status loom_trainer_watch_windows(loom_trainer trainer, uint64_t layers, loom_on_window window,
    void* user);

/* Like loom_network_session_report_to(), for a trainer. */
LOOM_API loom_status loom_trainer_report_to(loom_trainer trainer, const char* address);

/* Calls the host after each layer of a mesh's ticks; cells then run one after the other, with the same bits. */
LOOM_API loom_status loom_step_mesh_watch(loom_step_mesh mesh, loom_on_layer layer, void* user);

/* Like loom_network_session_watch_windows(), for a mesh's ticks. (layers: at least 1) */
LOOM_API loom_status loom_step_mesh_watch_windows(loom_step_mesh mesh, uint64_t layers, loom_on_window window,
    void* user);

/* Like loom_network_session_report_to(), for a step mesh. */
LOOM_API loom_status loom_step_mesh_report_to(loom_step_mesh mesh, const char* address);

/* Begins windows of so many milliseconds, now. (total_ms: what comes later is not counted) */
LOOM_API loom_status loom_adaptation_create(double window_ms, double total_ms, const char* task,
    loom_adaptation* adaptation);

/* Counts an output, which was right or not. */
LOOM_API loom_status loom_adaptation_record(loom_adaptation adaptation, int32_t correct);

/* The task changes now. */
LOOM_API loom_status loom_adaptation_mark(loom_adaptation adaptation, const char* task);

/* Gives a JSON object: windows so far, changes with accuracy before them and time to recover, accuracy, throughput,
   availability, score. */
LOOM_API loom_status loom_adaptation_info(loom_adaptation adaptation, loom_blob* info);

#ifdef __cplusplus
}
#endif

#endif
