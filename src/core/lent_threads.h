#pragma once
// Threads of WebAssembly, which the host of the module starts and lends: a module cannot start any. All thread pools
// share them. Only WebAssembly builds compile these.

namespace loom {

// Before the first pool is made: how many threads will call lend_thread().
void expect_lent_threads(int threads);
// Runs parts of jobs until end_lent_threads(). `worker` counts from 1.
void lend_thread(int worker);
void end_lent_threads();
// A lent thread has died: the job that runs ends with the module, since it would wait for ever.
void fail_lent_thread();

}  // namespace loom
