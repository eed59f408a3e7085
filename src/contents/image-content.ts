import type { GatewayError } from '../domain/errors.ts';
import type { ImageRequest } from '../domain/images.ts';
import type { ImageDigest } from '../domain/image-digest.ts';
import type { EndedRun } from './content-log.ts';

/** The fields of an ended image generation that the log needs. `ImageRun` of the pipeline has all of them. */
export interface EndedImageRun extends Pick<EndedRun, 'caller' | 'origin' | 'generationId' | 'startedAtMs'> {
  readonly request: ImageRequest;
  /** The loaded references, in the order of the request. */
  readonly references: readonly { digest?: ImageDigest }[];
  readonly steps: readonly {
    readonly committed: { readonly made: readonly { digest?: ImageDigest }[] } | undefined;
  }[];
  readonly isComplete: boolean;
  readonly error: GatewayError | undefined;
}

/**
 * Describes an image generation as a response: the input is a message with the prompt and the references, and the output
 * has an item for each image. Images appear only as digests.
 */
export function describeGeneration(run: EndedImageRun): EndedRun {
  const { request, references, steps, isComplete } = run;
  const made = steps.at(-1)?.committed?.made ?? [];
  const { prompt, session_id, input_references: urls = [] } = request;
  const shown = urls.map((url, index) => {
    const digest = references[index]?.digest;
    const isDigestEnough = digest !== undefined && /^data:/i.test(url);
    return { type: 'input_image' as const, ...(digest && { digest }), ...(!isDigestEnough && { image_url: url }) };
  });
  const content = [{ type: 'input_text' as const, text: prompt }, ...shown];
  return {
    ...run,
    request: session_id === undefined ? {} : { session_id },
    input: { readGiven: () => [{ type: 'message', role: 'user', content }], bytes: undefined, park() {} },
    builder: { output: isComplete ? made.map(({ digest }) => ({ type: 'image_generation_call', digest })) : [] },
  };
}
