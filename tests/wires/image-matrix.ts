import type { EndpointFacts } from '../../src/domain/endpoint.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { ImageRequest, EncodedImage } from '../../src/domain/images.ts';
import { fitImage } from '../../src/pipeline/images/fit-image.ts';
import { wires } from '../../src/providers/index.ts';
import { ImageNeeds } from '../../src/routing/image-needs.ts';

/** A column: a wire and one of its models. */
export interface ImageColumn {
  wire: string;
  model: string;
}

/** The wires that generate images, except the simulator, each with models that differ. */
export const imageColumns: readonly ImageColumn[] = [
  { wire: 'openai-images', model: 'gpt-image-1' },
  { wire: 'gemini', model: 'gemini-3-pro-image' },
  { wire: 'openai-chat', model: 'google/gemini-3-pro-image' },
  { wire: 'bfl', model: 'flux-2-pro' },
  { wire: 'bfl', model: 'flux-kontext-pro' },
  { wire: 'recraft', model: 'recraftv4_1' },
  { wire: 'recraft', model: 'recraftv3_vector' },
  { wire: 'fal', model: 'fal-ai/flux/dev' },
];

export interface ImageRow {
  name: string;
  request: Partial<ImageRequest>;
}

const url = 'data:image/png;base64,iVBORw0KGgo=';

export const imageRows: readonly ImageRow[] = [
  { name: '`n: 2`', request: { n: 2 } },
  { name: '`size: 1024x1024`', request: { size: { width: 1024, height: 1024 } } },
  { name: '`size: 1000x700`', request: { size: { width: 1000, height: 700 } } },
  { name: '`aspect_ratio: 16:9`', request: { aspect_ratio: '16:9' } },
  { name: '`aspect_ratio: 8:1`', request: { aspect_ratio: '8:1' } },
  { name: '`resolution: 1K`', request: { resolution: '1K' } },
  { name: '`resolution: 4K`', request: { resolution: '4K' } },
  { name: '`quality: high`', request: { quality: 'high' } },
  { name: '`output_format: png`', request: { output_format: 'png' } },
  { name: '`output_format: webp`', request: { output_format: 'webp' } },
  { name: '`output_format: svg`', request: { output_format: 'svg' } },
  { name: '`output_compression`, with JPEG', request: { output_format: 'jpeg', output_compression: 50 } },
  { name: '`background: transparent`, with PNG', request: { background: 'transparent', output_format: 'png' } },
  { name: 'one reference', request: { input_references: [url] } },
  { name: 'three references', request: { input_references: [url, url, url] } },
  { name: '`seed`', request: { seed: 7 } },
];

/** The result of a row: sent unchanged, changed to the nearest value (reported), dropped (reported), or rejected. */
export type ImageFate = 'yes' | 'nearest' | 'dropped' | '400';

export function findImageFate({ wire: wireId, model }: ImageColumn, row: ImageRow): ImageFate {
  const image = wires.get(wireId)!.image!; // each column has an image wire
  const facts = image.factsOf?.(model) ?? image.facts;
  const request: ImageRequest = { model: 'acme/one', prompt: 'A red fox', ...row.request };
  const endpoint = { model: 'acme/one', tag: 'acme', provider: { id: 'acme', name: 'Acme' }, image: facts };
  if (new ImageNeeds(request).exclude(endpoint as unknown as EndpointFacts)) return '400';
  const shown: EncodedImage = { bytes: Buffer.from('x'), mediaType: 'image/png', width: 64, height: 64 };
  const references = (request.input_references ?? []).map(() => shown);
  try {
    const fitted = fitImage(request, references, endpoint as unknown as EndpointFacts, facts);
    const target = { endpoint: 'acme/one at Acme', upstreamModel: model, stream: false, dialect: {} };
    const { dropped } = image.writeRequest(fitted.fitted, target);
    if (fitted.clamped.length > 0 || dropped.some((name) => name.includes('→'))) return 'nearest';
    return fitted.dropped.length + dropped.length > 0 ? 'dropped' : 'yes';
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400) return '400';
    throw error;
  }
}

/** The part of `docs/reference/wires.md` about `POST /images`. */
export function writeImagePart(): string {
  const names = imageColumns.map(({ wire, model }) => `\`${wire}\`<br>${model.split('/').slice(-2).join('/')}`);
  const lines = imageRows.map((row) => {
    return `| ${row.name} | ${imageColumns.map((column) => findImageFate(column, row)).join(' | ')} |`;
  });
  const streams = imageColumns.map(({ wire, model }) => {
    const { facts, factsOf } = wires.get(wire)!.image!; // as above
    return (factsOf?.(model) ?? facts).streams ? 'yes' : '–';
  });
  return `## Images

This table shows how each wire handles the fields of \`POST /images\`, with one of its models.

- *nearest*: the gateway sends the nearest supported value and reports the change.
- *dropped*: the gateway drops the field and reports it.
- *400*: the endpoint is excluded, because the image would be a different one. Another endpoint of the
  model may support it.

| Field | ${names.join(' | ')} |
|---|${'---|'.repeat(names.length)}
${lines.join('\n')}
| partial images of a stream | ${streams.join(' | ')} |
`;
}
