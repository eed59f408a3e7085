import type { Usage } from './usage.ts';

/** @see docs/reference/images.md#request-body */
export const aspectRatios = [
  '1:1',
  '1:2',
  '1:4',
  '1:8',
  '2:1',
  '2:3',
  '2.35:1',
  '3:2',
  '3:4',
  '4:1',
  '4:3',
  '4:5',
  '5:2',
  '5:4',
  '8:1',
  '9:16',
  '16:9',
  '9:19.5',
  '19.5:9',
  '9:20',
  '20:9',
  '9:21',
  '21:9',
  'auto',
] as const;
export const resolutions = ['512', '1K', '2K', '4K'] as const;
/** From the fastest to the best. `auto` leaves it to the model. */
export const qualities = ['auto', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const imageFormats = ['png', 'jpeg', 'webp', 'svg'] as const;
export const backgrounds = ['auto', 'transparent', 'opaque'] as const;

export type AspectRatio = (typeof aspectRatios)[number];
export type Resolution = (typeof resolutions)[number];
export type Quality = (typeof qualities)[number];
export type ImageFormat = (typeof imageFormats)[number];
export type Background = (typeof backgrounds)[number];

/** Pixels. */
export interface PixelSize {
  width: number;
  height: number;
}

/** The size of an image, for its price. Undefined: unknown. */
export interface Measured {
  width: number | undefined;
  height: number | undefined;
}

/** The counts that image prices depend on. The ledger keeps them. */
export interface ImageCounts {
  /** Finished images that were generated. */
  made: number;
  /** The sum over all of them. Absent: not measured, or unknown for at least one. */
  madePixels?: number;
  /** Images that were sent. */
  references: number;
  referencePixels?: number;
  /** The tier in lower case, such as `2k`, that price lines may apply to. */
  variant?: string;
}

export function countImages(made: readonly Measured[], references: readonly Measured[], variant?: string): ImageCounts {
  const counts: ImageCounts = { made: made.length, references: references.length };
  const [madePixels, referencePixels] = [sumPixels(made), sumPixels(references)];
  if (madePixels !== undefined) counts.madePixels = madePixels;
  if (referencePixels !== undefined) counts.referencePixels = referencePixels;
  if (variant !== undefined) counts.variant = variant;
  return counts;
}

function sumPixels(images: readonly Measured[]): number | undefined {
  let sum = 0;
  for (const { width, height } of images) {
    if (width === undefined || height === undefined) return undefined;
    sum += width * height;
  }
  return sum;
}

/** Adds the counts of several attempts. */
export function addImageCounts(a: ImageCounts, b: ImageCounts): ImageCounts {
  const sum: ImageCounts = { made: a.made + b.made, references: a.references + b.references };
  if (a.madePixels !== undefined && b.madePixels !== undefined) sum.madePixels = a.madePixels + b.madePixels;
  if (a.referencePixels !== undefined && b.referencePixels !== undefined) {
    sum.referencePixels = a.referencePixels + b.referencePixels;
  }
  const variant = b.variant ?? a.variant;
  if (variant !== undefined) sum.variant = variant;
  return sum;
}

/**
 * A checked `POST /images` body with wire names. A tier in `size` has been moved to `resolution`, so that `size` is in
 * pixels and agrees with `resolution` and `aspect_ratio`.
 *
 * @see docs/reference/images.md#request-body
 */
export interface ImageRequest {
  model: string;
  prompt: string;
  /** The maximum number of images. Absent: 1. */
  n?: number;
  aspect_ratio?: AspectRatio;
  resolution?: Resolution;
  size?: PixelSize;
  quality?: Quality;
  output_format?: ImageFormat;
  output_compression?: number;
  background?: Background;
  /** Data URLs and HTTP(S) URLs. */
  input_references?: readonly string[];
  seed?: number;
  stream?: boolean;
  provider?: ImagePreferences;
  session_id?: string;
  user?: string;
  trace?: Record<string, unknown>;
}

/**
 * `provider` of a request: the preferences of `POST /responses` that apply to images, and options of single providers.
 */
export interface ImagePreferences {
  only?: string[] | null;
  ignore?: string[] | null;
  order?: string[] | null;
  sort?: unknown;
  allow_fallbacks?: boolean | null;
  /** Only of a request that the gateway itself makes: the wishes of the request that it serves. */
  zdr?: boolean;
  data_collection?: 'deny';
  /** By provider slug. */
  options?: Record<string, Record<string, unknown>>;
}

/** An image as bytes. Its type is detected from its content. */
export interface EncodedImage {
  bytes: Buffer;
  mediaType: ImageMediaType;
  /** Undefined for an image without a size, such as some SVG images. */
  width: number | undefined;
  height: number | undefined;
}

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif' | 'image/svg+xml';

/**
 * The request for one endpoint: fitted to its capabilities, with loaded references. Undefined fields are left to the
 * endpoint. An endpoint that accepts pixels gets `size`; one that accepts a ratio and a tier gets those.
 */
export interface EndpointImageRequest {
  prompt: string;
  /** 1 or more. */
  count: number;
  size: PixelSize | undefined;
  aspectRatio: AspectRatio | undefined;
  resolution: Resolution | undefined;
  quality: Quality | undefined;
  format: ImageFormat | undefined;
  /** 0 to 100. */
  compression: number | undefined;
  background: Background | undefined;
  seed: number | undefined;
  references: readonly EncodedImage[];
  /** The caller's `provider.options` for this provider that the endpoint accepts. */
  passthrough: Readonly<Record<string, unknown>>;
}

/**
 * The meaning of a provider's response. A reader creates chunks; `pipeline/images/image-event-stage.ts` turns them into
 * events.
 */
export type ImageChunk =
  | ImageStartChunk
  | PartialImageChunk
  | ImageTextChunk
  | CompletedImageChunk
  | ImageLinkChunk
  | ImageFinishChunk;

/** The provider has started to respond. Nothing is visible yet. */
export interface ImageStartChunk {
  type: 'start';
  /** The model that the provider reports. */
  model?: string;
}
/** An unfinished image. */
export interface PartialImageChunk {
  type: 'partial';
  /** Numbered by the provider, from 0. */
  index: number;
  bytes: Buffer;
}
/** A part of an image format that is text. Only `content` belongs to the image. */
export interface ImageTextChunk {
  type: 'text';
  text: string;
  phase: 'content' | 'reasoning' | 'draft';
}
/** A finished image. Its type is detected from its bytes. */
export interface CompletedImageChunk {
  type: 'image';
  bytes: Buffer;
}
/** A finished image at a URL. The pipeline fetches it and replaces the chunk. */
export interface ImageLinkChunk {
  type: 'image_link';
  url: string;
}
/** The provider's own, regular end. A stream that ends without it was truncated. */
export interface ImageFinishChunk {
  type: 'finish';
  /** Undefined: the provider did not report it. Image tokens are in its `special` counts. */
  usage?: Usage;
  /** Names of fields that the provider sent and the interface does not have. */
  dropped?: string[];
}

/** Whether the client sees this output, so that no other endpoint may take over. */
export const isImageOutput = ({ type }: { type: ImageChunk['type'] }): boolean =>
  type === 'partial' || type === 'text' || type === 'image' || type === 'image_link';

// --- capabilities of an endpoint ---

/** The values that an endpoint accepts. Bounds are inclusive integers. @see docs/reference/images.md#catalog */
export type Capability =
  | { readonly type: 'enum'; readonly values: readonly string[] }
  | { readonly type: 'range'; readonly min: number; readonly max: number }
  | { readonly type: 'boolean' };

/** The maximum of a range. Undefined: not specified. */
export const upperBound = (can: Capability | undefined): number | undefined =>
  can?.type === 'range' ? can.max : undefined;

export const imageParameters = [
  'n',
  'aspect_ratio',
  'resolution',
  'size',
  'quality',
  'output_format',
  'output_compression',
  'background',
  'input_references',
  'seed',
] as const;
export type ImageParameter = (typeof imageParameters)[number];

/**
 * Field of the request → the values that the endpoint accepts. A missing key: none. `size` is a list of
 * `<width>x<height>`, or the range of each edge. Without `n` the endpoint generates single images only.
 */
export type ImageParameters = Readonly<Partial<Record<ImageParameter, Capability>>>;

/** The facts about an image endpoint that routing and fitting use. */
export interface ImageFacts {
  readonly parameters: ImageParameters;
  /** Keys of `provider.options` that are passed on. */
  readonly passthrough: readonly string[];
  /** Whether it sends partial images. */
  readonly streams: boolean;
  /** Undefined: the price is unknown. */
  readonly pricing: readonly ImagePrice[] | undefined;
}

export const imageBillables = ['output_image', 'input_image', 'input_font', 'input_reference', 'input_text'] as const;
export const imageUnits = ['request', 'image', 'megapixel', 'token'] as const;

/** One line of a price list. @see docs/reference/images.md#catalog, docs/reference/images.md#cost */
export interface ImagePrice {
  readonly billable: (typeof imageBillables)[number];
  readonly unit: (typeof imageUnits)[number];
  readonly costUsd: number;
  /** The tier in lower case (`2k`) that the line applies to. Absent: any. */
  readonly variant?: string;
}

// --- sizes ---

/** Edge length of the square of a tier, in pixels. */
const edges: Readonly<Record<Resolution, number>> = { '512': 512, '1K': 1024, '2K': 2048, '4K': 4096 };

/** Width divided by height; undefined for `auto`. */
export function ratioOf(ratio: AspectRatio): number | undefined {
  if (ratio === 'auto') return undefined;
  const [width, height] = ratio.split(':').map(Number);
  return width! / height!; // every ratio in the list has both
}

/** The tier whose square has the nearest area, on a logarithmic scale. @see docs/reference/images.md#size */
export function tierOf({ width, height }: PixelSize): Resolution {
  const edge = Math.sqrt(width * height);
  return nearest(resolutions, (tier) => Math.abs(Math.log(edges[tier] / edge)));
}

/** The pixels for a provider without a size table: the area of the tier's square, with edges in multiples of 16. */
export function pixelsOf(ratio: AspectRatio | undefined, tier: Resolution = '1K'): PixelSize {
  const edge = edges[tier];
  const share = (ratio === undefined ? undefined : ratioOf(ratio)) ?? 1;
  const round = (pixels: number): number => Math.max(16, Math.round(pixels / 16) * 16);
  return { width: round(edge * Math.sqrt(share)), height: round(edge / Math.sqrt(share)) };
}

/** The nearest ratio of the list. */
export function nearestRatio(wanted: number, known: readonly AspectRatio[] = aspectRatios): AspectRatio {
  const distance = (ratio: AspectRatio): number => {
    const value = ratioOf(ratio);
    return value === undefined ? Number.POSITIVE_INFINITY : Math.abs(Math.log(value / wanted));
  };
  return nearest(known, distance);
}

/** The size with the nearest shape. Among equal shapes, the one with the nearest area. */
export function nearestSize(wanted: PixelSize, known: readonly PixelSize[]): PixelSize {
  const shape = (size: PixelSize): number =>
    Math.abs(Math.log(size.width / size.height / (wanted.width / wanted.height)));
  const area = (size: PixelSize): number =>
    Math.abs(Math.log((size.width * size.height) / (wanted.width * wanted.height)));
  const best = Math.min(...known.map(shape));
  return nearest(
    known.filter((size) => shape(size) <= best + 0.01),
    area,
  );
}

/** Parses `1024x1536`. Undefined: it is not a size. */
export function readPixelSize(text: string): PixelSize | undefined {
  const match = /^([1-9]\d{1,4})x([1-9]\d{1,4})$/.exec(text);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined;
}

export const writePixelSize = ({ width, height }: PixelSize): string => `${width}x${height}`;

/** The first of the nearest items. The list has at least one. */
function nearest<Item>(items: readonly Item[], distance: (item: Item) => number): Item {
  return items.reduce((best, item) => (distance(item) < distance(best) ? item : best));
}
