import { ratioOf, readPixelSize, resolutions, tierOf } from '../../domain/images.ts';
import { isObject } from '../../schema/by-kind.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import { type ImageBody, imageSchema, isImageBody } from './schema.ts';

/** Maximum relative difference between the shape of `size` and `aspect_ratio`. @see docs/reference/images.md#size */
const SHAPE_TOLERANCE = 0.02;

/**
 * Returns every problem of a `POST /images` body that is a 400: shapes first, then the rules that need more than one
 * field.
 *
 * @param body from `readJson`, which limits its depth and its numbers
 * @returns an empty report if the body is an `ImageBody`
 * @see docs/reference/images.md#request-body, docs/reference/images.md#size
 */
export function checkImageBody(body: unknown): Report {
  const report = new Report();
  if (!isObject(body)) {
    report.add('', `must be a JSON object, got ${show(body)}`);
    return report;
  }
  if (isImageBody(body)) checkTogether(body, report);
  else {
    explainIssues(imageSchema, body, '', report);
    // A body that failed its check is rejected, even if there is no explanation.
    if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
  }
  return report;
}

function checkTogether(body: ImageBody, report: Report): void {
  checkSize(body, report);
  const { background, output_format: format, input_references: references = [] } = body;
  if (background === 'transparent' && format !== 'png' && format !== 'webp') {
    const given = format === undefined ? 'missing' : show(format);
    report.add('background', `is "transparent", which \`output_format\` must be "png" or "webp" for; it is ${given}`);
  }
  for (const [index, { image_url: image }] of references.entries()) {
    if (/^data:/i.test(image.url)) continue;
    if (/^https?:\/\//i.test(image.url) && URL.canParse(image.url)) continue;
    const path = `input_references[${index}].image_url.url`;
    report.add(path, `must be a data URL of base64 or an http or https URL, got ${show(image.url)}`);
  }
}

const isTier = (text: string): boolean => (resolutions as readonly string[]).includes(text);

/** Checks a tier against `resolution`, or pixels against the other size fields. */
function checkSize({ size, resolution, aspect_ratio: ratio }: ImageBody, report: Report): void {
  if (size === undefined) return;
  if (isTier(size)) {
    if (resolution === undefined || resolution === size) return;
    report.add('size', `is the tier ${show(size)}, and \`resolution\` is ${show(resolution)}; send one of the two`);
    return;
  }
  const pixels = readPixelSize(size);
  if (!pixels) {
    report.add('size', `must be a tier (512, 1K, 2K, 4K) or pixels like "1024x1536", got ${show(size)}`);
    return;
  }
  const shape = ratio === undefined ? undefined : ratioOf(ratio);
  if (shape !== undefined && Math.abs(pixels.width / pixels.height / shape - 1) > SHAPE_TOLERANCE) {
    report.add(
      'size',
      `is ${show(size)}, which has not the shape of \`aspect_ratio\` ${show(ratio)}; send one of the two`,
    );
  }
  const tier = tierOf(pixels);
  if (resolution !== undefined && resolution !== tier) {
    report.add(
      'size',
      `is ${show(size)}, which is of the tier ${tier}, and \`resolution\` is ${show(resolution)}; send one of the two`,
    );
  }
}
