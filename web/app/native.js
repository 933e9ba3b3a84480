// Answers of the program that serves the page, to compare hashes with. On other hosts there is none.

/** Returns {version, model} of `loom page`, or null on another host. */
export async function nativeProgram() {
  try {
    const answer = await fetch('./native.json');
    if (!answer.ok || !answer.headers.get('content-type')?.includes('json')) return null;
    return await answer.json();
  } catch {
    return null; // offline
  }
}

/** Asks the program for its answer to the same conversation; null where it gives none. */
export async function nativeAnswer(messages, options, signal) {
  const { maxTokens, temperature, seed } = options;
  const body = JSON.stringify({ messages, max_tokens: maxTokens, temperature, seed });
  for (let tries = 0; tries < 40; ++tries) {
    const answer = await fetch('./native/answer', { method: 'POST', body, signal }).catch(() => null);
    if (!answer) return null;
    if (answer.ok) return answer.json();
    if (answer.status !== 503) return null;
    await new Promise((resolve) => setTimeout(resolve, 250)); // it computes another answer
  }
  return null;
}
