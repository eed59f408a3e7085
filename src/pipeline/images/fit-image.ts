import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import {
  type AspectRatio,
  type Capability,
  type EncodedImage,
  type EndpointImageRequest,
  type ImageFacts,
  type ImageFormat,
  type ImageParameters,
  type ImageRequest,
  nearestRatio,
  nearestSize,
  type PixelSize,
  pixelsOf,
  type Quality,
  qualities,
  type Resolution,
  ratioOf,
  readPixelSize,
  resolutions,
  tierOf,
  upperBound,
  writePixelSize,
} from '../../domain/images.ts';

/** A request that fits the capabilities of an endpoint. */
export interface FittedImage {
  fitted: EndpointImageRequest;
  /** The changes, as sentences. */
  clamped: string[];
  /** The omitted fields. */
  dropped: string[];
}

/** Maximum relative difference between two ratios that count as the same. @see docs/reference/images.md#size */
const SHAPE_TOLERANCE = 0.02;

/**
 * Fits a request to the capabilities of an endpoint: takes the nearest supported value, omits fields that only affect
 * quality (`quality`, `output_compression`, `seed`), and rejects values that would produce a different image.
 *
 * @param references of the request, loaded
 * @throws {GatewayError} `invalid_request` for more images or references than the endpoint accepts
 * @see docs/reference/images.md#size
 */
export function fitImage(
  request: ImageRequest,
  references: readonly EncodedImage[],
  endpoint: EndpointFacts,
  facts: ImageFacts,
): FittedImage {
  const fit = new Fit(`${endpoint.model} at ${endpoint.provider.name}`, facts.parameters);
  const format = fit.format(request);
  const ask: EndpointImageRequest = {
    prompt: request.prompt,
    count: fit.count(request.n ?? 1),
    ...fit.shape(request),
    quality: fit.quality(request.quality),
    format,
    compression: fit.compression(request.output_compression, format),
    background: fit.background(request.background),
    seed: fit.seed(request.seed),
    references: fit.references(references),
    passthrough: pickOptions(request, endpoint, facts),
  };
  return { fitted: ask, clamped: fit.clamped, dropped: fit.dropped };
}

class Fit {
  readonly clamped: string[] = [];
  readonly dropped: string[] = [];
  private readonly name: string;
  private readonly can: ImageParameters;

  constructor(name: string, can: ImageParameters) {
    this.name = name;
    this.can = can;
  }

  count(asked: number): number {
    const max = upperBound(this.can.n) ?? 1;
    if (asked > 1 && max === 1) throw this.refuse('n', `${asked} is more than it makes at once: 1`);
    return asked <= max ? asked : this.change('n', asked, max);
  }

  references(asked: readonly EncodedImage[]): readonly EncodedImage[] {
    const max = upperBound(this.can.input_references) ?? 0;
    if (asked.length <= max) return asked;
    const rule = max === 0 ? 'it takes none' : `it takes ${max}`;
    throw this.refuse('input_references', `there are ${asked.length}, and ${rule}`);
  }

  /** Returns pixels, or a ratio and a tier, depending on the endpoint. */
  shape({
    size,
    aspect_ratio: ratio,
    resolution,
  }: ImageRequest): Pick<EndpointImageRequest, 'size' | 'aspectRatio' | 'resolution'> {
    const { can } = this;
    const shape = ratio === undefined || ratio === 'auto' ? undefined : ratio;
    const nothing = { size: undefined, aspectRatio: undefined, resolution: undefined };
    const takesWords = can.aspect_ratio !== undefined || can.resolution !== undefined;
    if (can.size && (size || !takesWords || can.size.type === 'enum')) {
      if (!size && shape === undefined && resolution === undefined) return { ...nothing, ...this.auto(ratio) };
      const wanted = size ?? pixelsOf(shape, resolution);
      const fitted = this.pixels(can.size, wanted);
      if (size) {
        if (writePixelSize(fitted) !== writePixelSize(size))
          this.change('size', writePixelSize(size), writePixelSize(fitted));
      } else {
        if (shape !== undefined && isOff(fitted, shape)) this.change('aspect_ratio', shape, writePixelSize(fitted));
        if (resolution !== undefined && tierOf(fitted) !== resolution)
          this.change('resolution', resolution, writePixelSize(fitted));
      }
      return { ...nothing, size: fitted };
    }
    if (!size) return { ...nothing, aspectRatio: this.ratio(ratio), resolution: this.resolution(resolution) };
    const nearest = nearestRatio(size.width / size.height, this.ratios());
    const aspectRatio = can.aspect_ratio && nearest;
    const tier = can.resolution && this.tier(tierOf(size));
    const made = [aspectRatio, tier].filter((each) => each !== undefined);
    if (made.length === 0) this.leaveOut('size');
    else this.change('size', writePixelSize(size), made.join(' at '));
    return { size: undefined, aspectRatio, resolution: tier };
  }

  quality(asked: Quality | undefined): Quality | undefined {
    if (asked === undefined) return undefined;
    const values = listOf(this.can.quality) as readonly Quality[] | undefined; // the catalog uses these words
    if (!values) return this.leaveOut('quality');
    if (values.includes(asked)) return asked;
    const known = values.filter((value) => value !== 'auto' && qualities.includes(value));
    if (asked === 'auto' || known.length === 0) return undefined;
    const rank = (value: Quality): number => Math.abs(qualities.indexOf(value) - qualities.indexOf(asked));
    return this.change(
      'quality',
      asked,
      known.reduce((best, value) => (rank(value) < rank(best) ? value : best)),
    );
  }

  format({ output_format: asked }: ImageRequest): ImageFormat | undefined {
    if (asked === undefined) return undefined;
    const values = listOf(this.can.output_format) as readonly ImageFormat[] | undefined; // see `quality`
    if (!values) return this.leaveOut('output_format');
    if (values.includes(asked)) return asked;
    this.change('output_format', asked, values.length === 0 ? 'its own' : values.join(' or '));
    return undefined;
  }

  compression(asked: number | undefined, format: ImageFormat | undefined): number | undefined {
    if (asked === undefined) return undefined;
    const { output_compression: can } = this.can;
    if (!can || format === undefined || format === 'png' || format === 'svg')
      return this.leaveOut('output_compression');
    if (can.type !== 'range') return asked;
    const fitted = Math.min(can.max, Math.max(can.min, asked));
    return fitted === asked ? asked : this.change('output_compression', asked, fitted);
  }

  background(asked: ImageRequest['background']): ImageRequest['background'] {
    if (asked === undefined) return undefined;
    const values = listOf(this.can.background);
    if (values?.includes(asked)) return asked;
    return asked === 'auto' ? undefined : this.leaveOut('background');
  }

  seed(asked: number | undefined): number | undefined {
    if (asked === undefined || this.can.seed) return asked;
    return this.leaveOut('seed');
  }

  private auto(ratio: AspectRatio | undefined): { aspectRatio: AspectRatio | undefined } {
    return { aspectRatio: ratio === 'auto' && this.ratios().includes('auto') ? 'auto' : undefined };
  }

  private ratios(): readonly AspectRatio[] {
    return (listOf(this.can.aspect_ratio) ?? []) as readonly AspectRatio[]; // see `quality`
  }

  private ratio(asked: AspectRatio | undefined): AspectRatio | undefined {
    if (asked === undefined) return undefined;
    const known = this.ratios();
    if (known.includes(asked)) return asked;
    if (asked === 'auto') return undefined;
    const shapes = known.filter((ratio) => ratio !== 'auto');
    if (shapes.length === 0) return this.leaveOut('aspect_ratio');
    return this.change('aspect_ratio', asked, nearestRatio(ratioOf(asked)!, shapes)); // `auto` was handled above
  }

  private resolution(asked: Resolution | undefined): Resolution | undefined {
    if (asked === undefined) return undefined;
    const fitted = this.tier(asked);
    if (fitted === undefined) return this.leaveOut('resolution');
    return fitted === asked ? asked : this.change('resolution', asked, fitted);
  }

  /** Returns the nearest tier of the endpoint. Undefined if it has no tiers. */
  private tier(asked: Resolution): Resolution | undefined {
    const known = listOf(this.can.resolution) as readonly Resolution[] | undefined; // see `quality`
    const rank = (tier: Resolution): number => Math.abs(resolutions.indexOf(tier) - resolutions.indexOf(asked));
    return known?.length ? known.reduce((best, tier) => (rank(tier) < rank(best) ? tier : best)) : undefined;
  }

  private pixels(can: Capability, wanted: PixelSize): PixelSize {
    switch (can.type) {
      case 'boolean':
        return wanted;
      case 'enum': {
        const sizes = can.values.flatMap((value) => readPixelSize(value) ?? []);
        return sizes.length === 0 ? wanted : nearestSize(wanted, sizes);
      }
      case 'range': {
        const [short, long] = [Math.min(wanted.width, wanted.height), Math.max(wanted.width, wanted.height)];
        const scale = long > can.max ? can.max / long : short < can.min ? can.min / short : 1;
        const edge = (pixels: number): number => Math.min(can.max, Math.max(can.min, Math.round(pixels * scale)));
        return { width: edge(wanted.width), height: edge(wanted.height) };
      }
    }
  }

  private change<Value>(field: string, asked: unknown, fitted: Value): Value {
    this.clamped.push(`${field}: ${asked} became ${fitted}, which is what ${this.name} has.`);
    return fitted;
  }

  private leaveOut(field: string): undefined {
    this.dropped.push(field);
    return undefined;
  }

  private refuse(path: string, rule: string): GatewayError {
    const message = `${this.name} cannot take this: ${rule}.`;
    return new GatewayError('invalid_request', `${path}: ${message}`, {
      metadata: { param: path, issues: [{ path, message }] },
    });
  }
}

const isOff = ({ width, height }: PixelSize, ratio: AspectRatio): boolean =>
  Math.abs(width / height / (ratioOf(ratio) ?? 1) - 1) > SHAPE_TOLERANCE;

const listOf = (can: Capability | undefined): readonly string[] | undefined =>
  can === undefined ? undefined : can.type === 'enum' ? can.values : [];

/** Returns the caller's options for this provider that the endpoint accepts. */
function pickOptions(
  { provider: preferences }: ImageRequest,
  { provider, tag }: EndpointFacts,
  { passthrough }: ImageFacts,
): Record<string, unknown> {
  const { options } = preferences ?? {};
  if (!options || passthrough.length === 0) return {};
  const slug = tag.split('/')[0]!;
  const given = options[slug] ?? options[provider.id] ?? {};
  return Object.fromEntries(Object.entries(given).filter(([key]) => passthrough.includes(key)));
}
