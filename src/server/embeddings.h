#pragma once
// Vectors of texts: POST /v1/embeddings (OpenAI's API reference, "Create embeddings"), /v1/rerank (Jina's and Cohere's
// interface), and Ollama's /api/embed and /api/embeddings.

#include <memory>

#include "http/http_message.h"
#include "server/embedder.h"

namespace loom::server {

// InvalidConfig, Unsupported, UnknownKey with the place; NotFound for another model; Busy. Errors that come later are
// in the response.
Result<HttpResponse> embeddings(Embedder& embedder, std::string_view body);
// Scores are cosines of the vectors of query and document, the best first; equal ones in the order of the documents.
Result<HttpResponse> rerank(Embedder& embedder, std::string_view body);
Result<HttpResponse> ollama_embed(Embedder& embedder, std::string_view body);
Result<HttpResponse> ollama_embedding(Embedder& embedder, std::string_view body);

}  // namespace loom::server
