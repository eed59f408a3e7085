import type { EndpointFacts } from '../domain/endpoint.ts';
import { estimateTokens } from '../domain/estimate-tokens.ts';
import {
  type Capability,
  type ImageParameters,
  type ImageRequest,
  type PixelSize,
  pixelsOf,
  tierOf,
  upperBound,
  writePixelSize,
} from '../domain/images.ts';
import { estimateImageCost, imagePriceLinesOf } from '../metering/image-cost.ts';
import type { Exclusion } from './exclusion.ts';
import { Needs } from './needs.ts';

/** The requirements of an image generation. */
export class ImageNeeds extends Needs {
  private readonly imageRequest: ImageRequest;

  constructor(request: ImageRequest) {
    super({ input: [], model: request.model });
    this.imageRequest = request;
  }

  override get inputTokens(): number {
    return estimateTokens([this.imageRequest.prompt]);
  }

  override get output(): readonly string[] {
    return ['image'];
  }

  override get parameters(): readonly string[] {
    return this.softParameters;
  }

  /** Parameters that change the image if they are dropped. Others (`quality`, `seed`, …) exclude no endpoint. */
  override get softParameters(): readonly string[] {
    const { imageRequest } = this;
    return (['size', 'aspect_ratio', 'resolution', 'output_format', 'background', 'n'] as const).filter(
      (name) => imageRequest[name] !== undefined && imageRequest[name] !== 'auto',
    );
  }

  override exclude({ image }: EndpointFacts): Exclusion | undefined {
    if (!image) return { code: 'wrong_endpoint', reason: 'does not support POST /images' };
    const { n = 1, input_references: references = [], output_format: format } = this.imageRequest;
    const { parameters } = image;
    if (n > 1 && (upperBound(parameters.n) ?? 1) === 1) return { code: 'n', reason: 'generates one image per request' };
    const maxReferences = upperBound(parameters.input_references) ?? 0;
    if (references.length > maxReferences) {
      return {
        code: 'input_references',
        reason: `supports ${maxReferences === 0 ? 'no' : `at most ${maxReferences}`} reference images`,
      };
    }
    if (format === 'svg' && !has(parameters.output_format, 'svg')) {
      return { code: 'output_format', reason: 'does not generate SVG' };
    }
    return undefined;
  }

  override takes({ image }: EndpointFacts, parameter: string): boolean | undefined {
    return image && takesValue(image.parameters, parameter, this.imageRequest);
  }

  /** For comparisons. On the scale of text prices, a generation counts like a million tokens. */
  override priceOf(endpoint: EndpointFacts): number | undefined {
    const cost = this.estimate(endpoint);
    return cost === undefined ? undefined : Number(cost);
  }

  override isPriced(endpoint: EndpointFacts): boolean {
    return imagePriceLinesOf(endpoint) !== undefined;
  }

  /** @returns nano-dollars; undefined if no price is known */
  estimate(endpoint: EndpointFacts): bigint | undefined {
    const { n = 1, input_references: references = [] } = this.imageRequest;
    return estimateImageCost(imagePriceLinesOf(endpoint), {
      count: n,
      references: references.length,
      promptTokens: this.inputTokens,
      size: sizeOf(this.imageRequest),
      variant: variantOf(this.imageRequest),
    });
  }
}

/** Returns the requested size in pixels. Unknown edges are undefined. */
const sizeOf = ({ size, aspect_ratio: ratio, resolution }: ImageRequest): PixelSize =>
  size ?? pixelsOf(ratio, resolution);

/** Returns the tier that selects price lines. @see docs/reference/images.md#cost */
export const variantOf = ({ size, resolution }: ImageRequest): string | undefined =>
  (resolution ?? (size && tierOf(size)))?.toLowerCase();

const has = (can: Capability | undefined, value: string): boolean => can?.type === 'enum' && can.values.includes(value);

function takesValue(parameters: ImageParameters, name: string, request: ImageRequest): boolean {
  switch (name) {
    case 'n':
      return (request.n ?? 1) <= (upperBound(parameters.n) ?? 1);
    case 'size': {
      const { size: can } = parameters;
      if (can?.type === 'enum') return can.values.includes(writePixelSize(request.size!)); // checked: a size was sent
      const edges = [request.size!.width, request.size!.height];
      return can !== undefined && (can.type === 'boolean' || edges.every((edge) => edge >= can.min && edge <= can.max));
    }
    case 'aspect_ratio':
    case 'resolution': {
      const can = parameters[name];
      if (can) return has(can, String(request[name]));
      return parameters.size !== undefined && parameters.size.type !== 'enum'; // converted to pixels
    }
    case 'output_format':
    case 'background':
      return has(parameters[name], String(request[name]));
    default:
      return true;
  }
}
