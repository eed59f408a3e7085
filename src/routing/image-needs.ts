import type { EndpointFacts } from '../domain/endpoint.ts';
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
import type { Exclusion } from './filters.ts';
import { Needs } from './needs.ts';

/** What an image generation asks of an endpoint. */
export class ImageNeeds extends Needs {
  private readonly asked: ImageRequest;

  constructor(request: ImageRequest) {
    super({ input: [], model: request.model });
    this.asked = request;
  }

  override get characters(): number {
    return this.asked.prompt.length;
  }

  override get output(): readonly string[] {
    return ['image'];
  }

  override get parameters(): readonly string[] {
    return this.softParameters;
  }

  /** What makes another picture when it is left out. The rest (`quality`, `seed`, …) chooses nobody. */
  override get softParameters(): readonly string[] {
    const { asked } = this;
    return (['size', 'aspect_ratio', 'resolution', 'output_format', 'background', 'n'] as const).filter(
      (name) => asked[name] !== undefined && asked[name] !== 'auto',
    );
  }

  override exclude({ image }: EndpointFacts): Exclusion | undefined {
    if (!image) return { code: 'wrong_endpoint', reason: 'makes no pictures for POST /images' };
    const { n = 1, input_references: references = [], output_format: format } = this.asked;
    const { parameters } = image;
    if (n > 1 && (upperBound(parameters.n) ?? 1) === 1) return { code: 'n', reason: 'makes single pictures only' };
    const taken = upperBound(parameters.input_references) ?? 0;
    if (references.length > taken) {
      return { code: 'input_references', reason: `takes ${taken === 0 ? 'no' : taken} reference pictures` };
    }
    if (format === 'svg' && !has(parameters.output_format, 'svg')) {
      return { code: 'output_format', reason: 'makes no SVG' };
    }
    return undefined;
  }

  override takes({ image }: EndpointFacts, parameter: string): boolean | undefined {
    return image && takesValue(image.parameters, parameter, this.asked);
  }

  /** Only for comparisons, on the scale of the prices of text: a generation counts like a million tokens. */
  override priceOf(endpoint: EndpointFacts): number | undefined {
    const cost = this.estimate(endpoint);
    return cost === undefined ? undefined : Number(cost);
  }

  /** @returns nano-dollars; undefined when no price is known */
  estimate(endpoint: EndpointFacts): bigint | undefined {
    const { n = 1, input_references: references = [], prompt } = this.asked;
    return estimateImageCost(imagePriceLinesOf(endpoint), {
      count: n,
      references: references.length,
      promptCharacters: prompt.length,
      size: sizeOf(this.asked),
      variant: variantOf(this.asked),
    });
  }
}

/** Pixels that a request asks for, as far as it says. */
const sizeOf = ({ size, aspect_ratio: ratio, resolution }: ImageRequest): PixelSize =>
  size ?? pixelsOf(ratio, resolution);

/** The tier that price lines may hold for. @see docs/reference/images.md#cost */
export const variantOf = ({ size, resolution }: ImageRequest): string | undefined =>
  (resolution ?? (size && tierOf(size)))?.toLowerCase();

const has = (can: Capability | undefined, value: string): boolean => can?.type === 'enum' && can.values.includes(value);

function takesValue(parameters: ImageParameters, name: string, asked: ImageRequest): boolean {
  switch (name) {
    case 'n':
      return (asked.n ?? 1) <= (upperBound(parameters.n) ?? 1);
    case 'size': {
      const { size: can } = parameters;
      if (can?.type === 'enum') return can.values.includes(writePixelSize(asked.size!)); // it was sent
      const edges = [asked.size!.width, asked.size!.height];
      return can !== undefined && (can.type === 'boolean' || edges.every((edge) => edge >= can.min && edge <= can.max));
    }
    case 'aspect_ratio':
    case 'resolution': {
      const can = parameters[name];
      if (can) return has(can, String(asked[name]));
      return parameters.size !== undefined && parameters.size.type !== 'enum'; // pixels are made of it
    }
    case 'output_format':
    case 'background':
      return has(parameters[name], String(asked[name]));
    default:
      return true;
  }
}
