import { defineTextWire, type TextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import type { ProviderEntry } from '../provider.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';
import { createPackageCaller } from './call-package.ts';
import { createReader, readWhole } from './chunks.ts';
import { findPackage } from './load-package.ts';
import { writeRequest } from './request.ts';

/**
 * Any package of the AI SDK (`@ai-sdk/amazon-bedrock`, `@ai-sdk/cohere`, …) that the operator has installed. The
 * package does the network I/O. Its parts are the frames.
 */
export const aiSdk = {
  id: 'ai-sdk',
  authorize: () => ({}), // the package sends the key
  forProvider,
  readError: readUpstreamError,
  text: defineTextWire({
    writeRequest: (request, target) => writeRequest(request, target, ''),
    createReader,
    readWhole,
  }),
} satisfies Wire;

/**
 * Creates a wire that sends requests through the package.
 *
 * @throws {Error} naming the package to install, for the operator
 */
function forProvider(entry: ProviderEntry): Wire {
  const found = findPackage(entry.package ?? '');
  const text: TextWire = {
    ...aiSdk.text,
    writeRequest: (request, target) => writeRequest(request, target, found.name),
    send: createPackageCaller(entry, found),
  };
  return { ...aiSdk, text };
}
