/* Sizes and offsets of the structs of loom.h. Made by tools/gen_bindings.py from api/loom.json.
   A size or offset that differs from what other languages declare is an array of -1 elements. */
#include <loom/loom.h>

#define AT(type, field, wasm32, lp64) \
  typedef char at_##type##_##field[offsetof(type, field) == (sizeof(void*) == 4 ? wasm32 : lp64) ? 1 : -1]
#define SIZE(type, wasm32, lp64) \
  typedef char size_##type[sizeof(type) == (sizeof(void*) == 4 ? wasm32 : lp64) ? 1 : -1]

SIZE(loom_model_options, 48, 64);
AT(loom_model_options, struct_size, 0, 0);
AT(loom_model_options, threads, 8, 8);
AT(loom_model_options, cancel, 16, 16);
AT(loom_model_options, progress, 24, 24);
AT(loom_model_options, user, 28, 32);
AT(loom_model_options, dtype, 32, 40);
AT(loom_model_options, adapters, 36, 48);
AT(loom_model_options, adapters_count, 40, 56);

SIZE(loom_session_options, 48, 56);
AT(loom_session_options, struct_size, 0, 0);
AT(loom_session_options, threads, 8, 8);
AT(loom_session_options, thread_count, 16, 16);
AT(loom_session_options, sequences, 20, 20);
AT(loom_session_options, context_tokens, 24, 24);
AT(loom_session_options, kv_dtype, 32, 32);
AT(loom_session_options, int8_activations, 36, 40);
AT(loom_session_options, isa, 40, 48);

SIZE(loom_generation_options, 80, 88);
AT(loom_generation_options, struct_size, 0, 0);
AT(loom_generation_options, max_tokens, 8, 8);
AT(loom_generation_options, min_tokens, 16, 16);
AT(loom_generation_options, seed, 24, 24);
AT(loom_generation_options, temperature, 32, 32);
AT(loom_generation_options, top_p, 36, 36);
AT(loom_generation_options, min_p, 40, 40);
AT(loom_generation_options, typical_p, 44, 44);
AT(loom_generation_options, repetition_penalty, 48, 48);
AT(loom_generation_options, frequency_penalty, 52, 52);
AT(loom_generation_options, presence_penalty, 56, 56);
AT(loom_generation_options, top_k, 60, 60);
AT(loom_generation_options, repetition_window, 64, 64);
AT(loom_generation_options, ignore_eos, 68, 68);
AT(loom_generation_options, stop, 72, 72);
AT(loom_generation_options, stop_count, 76, 80);

SIZE(loom_network_options, 24, 24);
AT(loom_network_options, struct_size, 0, 0);
AT(loom_network_options, lenient, 4, 4);
AT(loom_network_options, uninitialised, 8, 8);
AT(loom_network_options, max_bytes, 16, 16);

SIZE(loom_network_session_options, 64, 64);
AT(loom_network_session_options, struct_size, 0, 0);
AT(loom_network_session_options, threads, 8, 8);
AT(loom_network_session_options, thread_count, 16, 16);
AT(loom_network_session_options, backward, 20, 20);
AT(loom_network_session_options, isa, 24, 24);
AT(loom_network_session_options, max_bytes, 32, 32);
AT(loom_network_session_options, context, 40, 40);
AT(loom_network_session_options, kv_dtype, 48, 48);
AT(loom_network_session_options, checkpoint_every, 56, 56);

SIZE(loom_pass, 64, 104);
AT(loom_pass, struct_size, 0, 0);
AT(loom_pass, training, 4, 4);
AT(loom_pass, step, 8, 8);
AT(loom_pass, lengths, 12, 16);
AT(loom_pass, lengths_count, 16, 24);
AT(loom_pass, external, 20, 32);
AT(loom_pass, external_count, 24, 40);
AT(loom_pass, external_shape, 28, 48);
AT(loom_pass, external_shape_count, 32, 56);
AT(loom_pass, mask, 36, 64);
AT(loom_pass, mask_count, 40, 72);
AT(loom_pass, mask_shape, 44, 80);
AT(loom_pass, mask_shape_count, 48, 88);
AT(loom_pass, cancel, 56, 96);

SIZE(loom_trainer_options, 32, 40);
AT(loom_trainer_options, struct_size, 0, 0);
AT(loom_trainer_options, threads, 8, 8);
AT(loom_trainer_options, thread_count, 16, 16);
AT(loom_trainer_options, isa, 20, 24);
AT(loom_trainer_options, max_bytes, 24, 32);

SIZE(loom_batch, 36, 72);
AT(loom_batch, struct_size, 0, 0);
AT(loom_batch, inputs, 4, 8);
AT(loom_batch, inputs_count, 8, 16);
AT(loom_batch, shape, 12, 24);
AT(loom_batch, shape_count, 16, 32);
AT(loom_batch, classes, 20, 40);
AT(loom_batch, classes_count, 24, 48);
AT(loom_batch, targets, 28, 56);
AT(loom_batch, targets_count, 32, 64);

SIZE(loom_training_step, 48, 56);
AT(loom_training_step, struct_size, 0, 0);
AT(loom_training_step, loss, 8, 8);
AT(loom_training_step, learning_rate, 16, 16);
AT(loom_training_step, gradient_norm, 24, 24);
AT(loom_training_step, skipped, 32, 32);
AT(loom_training_step, why, 36, 40);
AT(loom_training_step, why_size, 40, 48);

SIZE(loom_train_options, 64, 96);
AT(loom_train_options, struct_size, 0, 0);
AT(loom_train_options, out, 4, 8);
AT(loom_train_options, folder, 8, 16);
AT(loom_train_options, start, 12, 24);
AT(loom_train_options, epochs, 16, 32);
AT(loom_train_options, threads, 24, 40);
AT(loom_train_options, thread_count, 32, 48);
AT(loom_train_options, isa, 36, 56);
AT(loom_train_options, cancel, 40, 64);
AT(loom_train_options, progress, 48, 72);
AT(loom_train_options, user, 52, 80);
AT(loom_train_options, shards, 56, 88);

SIZE(loom_evolve_options, 56, 88);
AT(loom_evolve_options, struct_size, 0, 0);
AT(loom_evolve_options, out, 4, 8);
AT(loom_evolve_options, folder, 8, 16);
AT(loom_evolve_options, start, 12, 24);
AT(loom_evolve_options, generations, 16, 32);
AT(loom_evolve_options, thread_count, 24, 40);
AT(loom_evolve_options, isa, 28, 48);
AT(loom_evolve_options, cancel, 32, 56);
AT(loom_evolve_options, progress, 40, 64);
AT(loom_evolve_options, user, 44, 72);
AT(loom_evolve_options, judging, 48, 80);

SIZE(loom_step_mesh_options, 40, 48);
AT(loom_step_mesh_options, struct_size, 0, 0);
AT(loom_step_mesh_options, threads, 8, 8);
AT(loom_step_mesh_options, thread_count, 16, 16);
AT(loom_step_mesh_options, isa, 20, 24);
AT(loom_step_mesh_options, history, 24, 32);
AT(loom_step_mesh_options, backward, 32, 40);
AT(loom_step_mesh_options, keep_inputs, 36, 44);

SIZE(loom_tick_options, 32, 32);
AT(loom_tick_options, struct_size, 0, 0);
AT(loom_tick_options, ticks, 8, 8);
AT(loom_tick_options, capture, 16, 16);
AT(loom_tick_options, training, 20, 20);
AT(loom_tick_options, cancel, 24, 24);

SIZE(loom_convert_options, 24, 48);
AT(loom_convert_options, struct_size, 0, 0);
AT(loom_convert_options, dtype, 4, 8);
AT(loom_convert_options, adapter, 8, 16);
AT(loom_convert_options, thread_count, 12, 24);
AT(loom_convert_options, progress, 16, 32);
AT(loom_convert_options, user, 20, 40);

SIZE(loom_step, 40, 48);
AT(loom_step, struct_size, 0, 0);
AT(loom_step, text, 4, 8);
AT(loom_step, text_size, 8, 16);
AT(loom_step, prompt_tokens, 16, 24);
AT(loom_step, generated_tokens, 24, 32);
AT(loom_step, stop, 32, 40);

SIZE(loom_generation, 96, 112);
AT(loom_generation, struct_size, 0, 0);
AT(loom_generation, text, 4, 8);
AT(loom_generation, text_size, 8, 16);
AT(loom_generation, ids, 12, 24);
AT(loom_generation, ids_count, 16, 32);
AT(loom_generation, prompt_tokens, 24, 40);
AT(loom_generation, dropped_bytes, 32, 48);
AT(loom_generation, prefill_seconds, 40, 56);
AT(loom_generation, decode_seconds, 48, 64);
AT(loom_generation, stop, 56, 72);
AT(loom_generation, hash, 60, 76);

#ifdef LOOM_PRINT_LAYOUT
#include <stdio.h>

#define SHOW(type, field) \
  printf(#type " " #field " %lu %lu\n", (unsigned long)offsetof(type, field), \
         (unsigned long)sizeof(((type*)0)->field))

int main(void) {
  printf("loom_model_options %lu\n", (unsigned long)sizeof(loom_model_options));
  SHOW(loom_model_options, struct_size);
  SHOW(loom_model_options, threads);
  SHOW(loom_model_options, cancel);
  SHOW(loom_model_options, progress);
  SHOW(loom_model_options, user);
  SHOW(loom_model_options, dtype);
  SHOW(loom_model_options, adapters);
  SHOW(loom_model_options, adapters_count);
  printf("loom_session_options %lu\n", (unsigned long)sizeof(loom_session_options));
  SHOW(loom_session_options, struct_size);
  SHOW(loom_session_options, threads);
  SHOW(loom_session_options, thread_count);
  SHOW(loom_session_options, sequences);
  SHOW(loom_session_options, context_tokens);
  SHOW(loom_session_options, kv_dtype);
  SHOW(loom_session_options, int8_activations);
  SHOW(loom_session_options, isa);
  printf("loom_generation_options %lu\n", (unsigned long)sizeof(loom_generation_options));
  SHOW(loom_generation_options, struct_size);
  SHOW(loom_generation_options, max_tokens);
  SHOW(loom_generation_options, min_tokens);
  SHOW(loom_generation_options, seed);
  SHOW(loom_generation_options, temperature);
  SHOW(loom_generation_options, top_p);
  SHOW(loom_generation_options, min_p);
  SHOW(loom_generation_options, typical_p);
  SHOW(loom_generation_options, repetition_penalty);
  SHOW(loom_generation_options, frequency_penalty);
  SHOW(loom_generation_options, presence_penalty);
  SHOW(loom_generation_options, top_k);
  SHOW(loom_generation_options, repetition_window);
  SHOW(loom_generation_options, ignore_eos);
  SHOW(loom_generation_options, stop);
  SHOW(loom_generation_options, stop_count);
  printf("loom_network_options %lu\n", (unsigned long)sizeof(loom_network_options));
  SHOW(loom_network_options, struct_size);
  SHOW(loom_network_options, lenient);
  SHOW(loom_network_options, uninitialised);
  SHOW(loom_network_options, max_bytes);
  printf("loom_network_session_options %lu\n", (unsigned long)sizeof(loom_network_session_options));
  SHOW(loom_network_session_options, struct_size);
  SHOW(loom_network_session_options, threads);
  SHOW(loom_network_session_options, thread_count);
  SHOW(loom_network_session_options, backward);
  SHOW(loom_network_session_options, isa);
  SHOW(loom_network_session_options, max_bytes);
  SHOW(loom_network_session_options, context);
  SHOW(loom_network_session_options, kv_dtype);
  SHOW(loom_network_session_options, checkpoint_every);
  printf("loom_pass %lu\n", (unsigned long)sizeof(loom_pass));
  SHOW(loom_pass, struct_size);
  SHOW(loom_pass, training);
  SHOW(loom_pass, step);
  SHOW(loom_pass, lengths);
  SHOW(loom_pass, lengths_count);
  SHOW(loom_pass, external);
  SHOW(loom_pass, external_count);
  SHOW(loom_pass, external_shape);
  SHOW(loom_pass, external_shape_count);
  SHOW(loom_pass, mask);
  SHOW(loom_pass, mask_count);
  SHOW(loom_pass, mask_shape);
  SHOW(loom_pass, mask_shape_count);
  SHOW(loom_pass, cancel);
  printf("loom_trainer_options %lu\n", (unsigned long)sizeof(loom_trainer_options));
  SHOW(loom_trainer_options, struct_size);
  SHOW(loom_trainer_options, threads);
  SHOW(loom_trainer_options, thread_count);
  SHOW(loom_trainer_options, isa);
  SHOW(loom_trainer_options, max_bytes);
  printf("loom_batch %lu\n", (unsigned long)sizeof(loom_batch));
  SHOW(loom_batch, struct_size);
  SHOW(loom_batch, inputs);
  SHOW(loom_batch, inputs_count);
  SHOW(loom_batch, shape);
  SHOW(loom_batch, shape_count);
  SHOW(loom_batch, classes);
  SHOW(loom_batch, classes_count);
  SHOW(loom_batch, targets);
  SHOW(loom_batch, targets_count);
  printf("loom_training_step %lu\n", (unsigned long)sizeof(loom_training_step));
  SHOW(loom_training_step, struct_size);
  SHOW(loom_training_step, loss);
  SHOW(loom_training_step, learning_rate);
  SHOW(loom_training_step, gradient_norm);
  SHOW(loom_training_step, skipped);
  SHOW(loom_training_step, why);
  SHOW(loom_training_step, why_size);
  printf("loom_train_options %lu\n", (unsigned long)sizeof(loom_train_options));
  SHOW(loom_train_options, struct_size);
  SHOW(loom_train_options, out);
  SHOW(loom_train_options, folder);
  SHOW(loom_train_options, start);
  SHOW(loom_train_options, epochs);
  SHOW(loom_train_options, threads);
  SHOW(loom_train_options, thread_count);
  SHOW(loom_train_options, isa);
  SHOW(loom_train_options, cancel);
  SHOW(loom_train_options, progress);
  SHOW(loom_train_options, user);
  SHOW(loom_train_options, shards);
  printf("loom_evolve_options %lu\n", (unsigned long)sizeof(loom_evolve_options));
  SHOW(loom_evolve_options, struct_size);
  SHOW(loom_evolve_options, out);
  SHOW(loom_evolve_options, folder);
  SHOW(loom_evolve_options, start);
  SHOW(loom_evolve_options, generations);
  SHOW(loom_evolve_options, thread_count);
  SHOW(loom_evolve_options, isa);
  SHOW(loom_evolve_options, cancel);
  SHOW(loom_evolve_options, progress);
  SHOW(loom_evolve_options, user);
  SHOW(loom_evolve_options, judging);
  printf("loom_step_mesh_options %lu\n", (unsigned long)sizeof(loom_step_mesh_options));
  SHOW(loom_step_mesh_options, struct_size);
  SHOW(loom_step_mesh_options, threads);
  SHOW(loom_step_mesh_options, thread_count);
  SHOW(loom_step_mesh_options, isa);
  SHOW(loom_step_mesh_options, history);
  SHOW(loom_step_mesh_options, backward);
  SHOW(loom_step_mesh_options, keep_inputs);
  printf("loom_tick_options %lu\n", (unsigned long)sizeof(loom_tick_options));
  SHOW(loom_tick_options, struct_size);
  SHOW(loom_tick_options, ticks);
  SHOW(loom_tick_options, capture);
  SHOW(loom_tick_options, training);
  SHOW(loom_tick_options, cancel);
  printf("loom_convert_options %lu\n", (unsigned long)sizeof(loom_convert_options));
  SHOW(loom_convert_options, struct_size);
  SHOW(loom_convert_options, dtype);
  SHOW(loom_convert_options, adapter);
  SHOW(loom_convert_options, thread_count);
  SHOW(loom_convert_options, progress);
  SHOW(loom_convert_options, user);
  printf("loom_step %lu\n", (unsigned long)sizeof(loom_step));
  SHOW(loom_step, struct_size);
  SHOW(loom_step, text);
  SHOW(loom_step, text_size);
  SHOW(loom_step, prompt_tokens);
  SHOW(loom_step, generated_tokens);
  SHOW(loom_step, stop);
  printf("loom_generation %lu\n", (unsigned long)sizeof(loom_generation));
  SHOW(loom_generation, struct_size);
  SHOW(loom_generation, text);
  SHOW(loom_generation, text_size);
  SHOW(loom_generation, ids);
  SHOW(loom_generation, ids_count);
  SHOW(loom_generation, prompt_tokens);
  SHOW(loom_generation, dropped_bytes);
  SHOW(loom_generation, prefill_seconds);
  SHOW(loom_generation, decode_seconds);
  SHOW(loom_generation, stop);
  SHOW(loom_generation, hash);
  return 0;
}
#endif
