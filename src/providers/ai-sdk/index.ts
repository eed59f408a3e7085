import { defineWire, type Wire } from '../wire.ts';
import type { ProviderEntry } from '../provider.ts';
import { readUpstreamError } from '../kit/upstream-error.ts';
import { createPackageCaller } from './call-package.ts';
import { createReader, readWhole } from './chunks.ts';
import { findPackage } from './load-package.ts';
import { writeRequest } from './request.ts';

/**
 * Any package of the AI SDK (`@ai-sdk/amazon-bedrock`, `@ai-sdk/cohere`, …) that the operator has installed. The package
 * does the network; its parts are the frames.
 */
export const aiSdk = defineWire({
  id: 'ai-sdk',
  authorize: () => ({}), // the package has its own ways
  forProvider,
  writeRequest: (request, target) => writeRequest(request, target, ''),
  createReader,
  readWhole,
  readError: readUpstreamError,
  answer: () => {
    throw new Error('The wire ai-sdk answers through a package; see forProvider.');
  },
});

/** @throws {Error} naming the package to install, for the operator */
function forProvider(entry: ProviderEntry): Wire {
  const found = findPackage(entry.package ?? '');
  return {
    ...aiSdk,
    writeRequest: (request, target) => writeRequest(request, target, found.name),
    answer: createPackageCaller(entry, found),
  };
}
