/**
 * Names of models that generate no text, in lower case, and their output. Servers that run models of others do not say
 * what a model is for, so that its name has to.
 */
const outputByName: readonly (readonly [RegExp, string])[] = [
  [/rerank/, 'rerank'],
  [/embed|(^|[/_-])(bge|gte|e5|uae|all-minilm|paraphrase)([-_:.]|$)/, 'embeddings'],
  [/whisper|transcribe|(^|[/_-])(parakeet|canary)-/, 'transcription'],
  [/(^|[/_-])tts([-_:.]|$)|kokoro/, 'speech'],
  [/(^|[/_-])(dall-e|gpt-image|chatgpt-image|stable-diffusion|sdxl|imagen|flux)([-_:.\d]|$)/, 'image'],
  [/(^|[/_-])(sora|veo)([-_:.]|$)/, 'video'],
  [/(^|[/_-])(omni|text)-moderation/, 'decisions'],
];

/** Returns the output of a model that only its name describes. @returns undefined: text, as far as the name says */
export function guessOutput(name: string): string[] | undefined {
  const lower = name.toLowerCase();
  const found = outputByName.find(([pattern]) => pattern.test(lower));
  return found && [found[1]];
}
