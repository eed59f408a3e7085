import type { Usage } from './usage.ts';

/** @see docs/reference/images.md#request-body */
export const aspectRatios = [
  ...(['1:1', '1:2', '1:4', '1:8', '2:1', '2:3', '2.35:1', '3:2', '3:4', '4:1', '4:3', '4:5', '5:2', '5:4'] as const),
  ...(['8:1', '9:16', '16:9', '9:19.5', '19.5:9', '9:20', '20:9', '9:21', '21:9', 'auto'] as const),
] as const;
export const resolutions = ['512', '1K', '2K', '4K'] as const;
/** From the quickest to the best; `auto` leaves it to the model. */
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

/** A picture as its price sees it: undefined where nobody can tell its size. */
export interface Measured {
  width: number | undefined;
  height: number | undefined;
}

/** What prices of pictures look at, and what the ledger keeps of them. */
export interface ImageCounts {
  /** Finished pictures that were made. */
  made: number;
  /** Of all of them together; absent where nobody looked, or could tell the size of each. */
  madePixels?: number;
  /** Pictures that were sent. */
  references: number;
  referencePixels?: number;
  /** `2k`: the tier in lower case that price lines may hold for. */
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

/** Of several attempts. */
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
 * A checked `POST /images` body. Wire names; settled already: a tier in `size` is in `resolution`, so that `size` is in
 * pixels and agrees with `resolution` and `aspect_ratio`.
 *
 * @see docs/reference/images.md#request-body
 */
export interface ImageRequest {
  model: string;
  prompt: string;
  /** At most so many; absent: 1. */
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

/** `provider` of a request: those preferences of `POST /responses` that images have, and what only one provider knows. */
export interface ImagePreferences {
  only?: string[] | null;
  ignore?: string[] | null;
  order?: string[] | null;
  sort?: unknown;
  allow_fallbacks?: boolean | null;
  /** By the slug of the provider. */
  options?: Record<string, Record<string, unknown>>;
}

/** A picture as bytes, known by its content. */
export interface EncodedImage {
  bytes: Buffer;
  mediaType: ImageMediaType;
  /** Undefined for one without a size of its own, as SVG may be. */
  width: number | undefined;
  height: number | undefined;
}

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif' | 'image/svg+xml';

/**
 * What one endpoint is asked: the request fitted to what it can do, references loaded. A field that is undefined is left
 * to the endpoint. An endpoint that takes pixels gets `size`, one that takes a ratio and a tier gets those.
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
  /** The caller's `provider.options` for this provider, as far as the endpoint lets them pass. */
  passthrough: Readonly<Record<string, unknown>>;
}

/** What a provider's answer means. A reader makes chunks, `pipeline/build-image-events.ts` turns them into events. */
export type ImageChunk =
  | ImageStartChunk
  | PartialImageChunk
  | ImageTextChunk
  | CompletedImageChunk
  | ImageLinkChunk
  | ImageFinishChunk;

/** The provider has begun; nothing is visible yet. */
export interface ImageStartChunk {
  type: 'start';
  /** The model that the provider says it runs. */
  model?: string;
}
/** A picture that is not finished. */
export interface PartialImageChunk {
  type: 'partial';
  /** Counted by the provider, from 0. */
  index: number;
  bytes: Buffer;
}
/** A piece of a format that is text. Only `content` belongs to the picture. */
export interface ImageTextChunk {
  type: 'text';
  text: string;
  phase: 'content' | 'reasoning' | 'draft';
}
/** A finished picture. What it is, is made out from its bytes. */
export interface CompletedImageChunk {
  type: 'image';
  bytes: Buffer;
}
/** A finished picture that lies at an address. The pipeline fetches it and puts the picture in its place. */
export interface ImageLinkChunk {
  type: 'image_link';
  url: string;
}
/** The provider's own, regular end. A stream that stops without it was cut. */
export interface ImageFinishChunk {
  type: 'finish';
  /** Undefined: the provider did not report it. Tokens of pictures are its `special` counts. */
  usage?: Usage;
  /** Names of what the provider sent and the interface has no place for. */
  dropped?: string[];
}

/** Output that the client sees, so that no other endpoint may take over. */
export const isImageOutput = ({ type }: { type: ImageChunk['type'] }): boolean =>
  type === 'partial' || type === 'text' || type === 'image' || type === 'image_link';

// --- what an endpoint can do ---

/** What values an endpoint takes; bounds are inclusive integers. @see docs/reference/images.md#catalog */
export type Capability =
  | { readonly type: 'enum'; readonly values: readonly string[] }
  | { readonly type: 'range'; readonly min: number; readonly max: number }
  | { readonly type: 'boolean' };

/** The most that a range has; undefined where nothing is said. */
export const upperBound = (can: Capability | undefined): number | undefined =>
  can?.type === 'range' ? can.max : undefined;

export const imageParameters = [
  ...(['n', 'aspect_ratio', 'resolution', 'size', 'quality', 'output_format', 'output_compression'] as const),
  ...(['background', 'input_references', 'seed'] as const),
] as const;
export type ImageParameter = (typeof imageParameters)[number];

/**
 * Field of the request → what the endpoint takes there. A missing key: nothing. `size` is a list of `<width>x<height>`,
 * or the range that each edge may have. Of `n` a missing key means single pictures only.
 */
export type ImageParameters = Readonly<Partial<Record<ImageParameter, Capability>>>;

/** What routing and fitting know of an endpoint that makes pictures. */
export interface ImageFacts {
  readonly parameters: ImageParameters;
  /** Keys of `provider.options` that go through. */
  readonly passthrough: readonly string[];
  /** Sends partial pictures. */
  readonly streams: boolean;
  /** Undefined: nobody knows what it costs. */
  readonly pricing: readonly ImagePrice[] | undefined;
}

export const imageBillables = ['output_image', 'input_image', 'input_font', 'input_reference', 'input_text'] as const;
export const imageUnits = ['request', 'image', 'megapixel', 'token'] as const;

/** One line of a price list. @see docs/reference/images.md#catalog, docs/reference/images.md#cost */
export interface ImagePrice {
  readonly billable: (typeof imageBillables)[number];
  readonly unit: (typeof imageUnits)[number];
  readonly costUsd: number;
  /** A tier in lower case (`2k`) that the line holds for; absent: any. */
  readonly variant?: string;
}

// --- sizes ---

/** Edge of the square of a tier, in pixels. */
const edges: Readonly<Record<Resolution, number>> = { '512': 512, '1K': 1024, '2K': 2048, '4K': 4096 };

/** Width divided by height; undefined for `auto`. */
export function ratioOf(ratio: AspectRatio): number | undefined {
  if (ratio === 'auto') return undefined;
  const [width, height] = ratio.split(':').map(Number);
  return width! / height!; // each of the list has both
}

/** The tier whose square is nearest in area, on a logarithmic scale. @see docs/reference/images.md#size */
export function tierOf({ width, height }: PixelSize): Resolution {
  const edge = Math.sqrt(width * height);
  return nearest(resolutions, (tier) => Math.abs(Math.log(edges[tier] / edge)));
}

/** Pixels for a provider without a table of its own: the area of the tier's square, edges in multiples of 16. */
export function pixelsOf(ratio: AspectRatio | undefined, tier: Resolution = '1K'): PixelSize {
  const edge = edges[tier];
  const share = (ratio === undefined ? undefined : ratioOf(ratio)) ?? 1;
  const round = (pixels: number): number => Math.max(16, Math.round(pixels / 16) * 16);
  return { width: round(edge * Math.sqrt(share)), height: round(edge / Math.sqrt(share)) };
}

/** The ratio of the list that comes nearest. */
export function nearestRatio(wanted: number, known: readonly AspectRatio[] = aspectRatios): AspectRatio {
  const distance = (ratio: AspectRatio): number => {
    const value = ratioOf(ratio);
    return value === undefined ? Number.POSITIVE_INFINITY : Math.abs(Math.log(value / wanted));
  };
  return nearest(known, distance);
}

/** Of sizes the one of the nearest shape; of those the nearest in area. */
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

/** `1024x1536` → pixels; undefined for anything else. */
export function readPixelSize(text: string): PixelSize | undefined {
  const match = /^([1-9]\d{1,4})x([1-9]\d{1,4})$/.exec(text);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined;
}

export const writePixelSize = ({ width, height }: PixelSize): string => `${width}x${height}`;

/** The first of those that are nearest; the list has at least one. */
function nearest<Item>(items: readonly Item[], distance: (item: Item) => number): Item {
  return items.reduce((best, item) => (distance(item) < distance(best) ? item : best));
}
