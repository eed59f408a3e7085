import { GatewayError } from '../../domain/errors.ts';
import type { Sink } from '../../domain/sink.ts';
import { settingsOf } from '../../providers/provider.ts';
import type { ImageAttempt } from '../run/attempt.ts';
import { beginAttempt } from '../accounting/close-run.ts';
import { dispatch } from '../attempts/exchange.ts';
import { ImageExchange } from './exchange-images.ts';
import { fitImage } from './fit-image.ts';
import { type CheckedImageChunk, ImageCheck } from './image-check.ts';
import type { ImagePipeline } from '../image-pipeline.ts';
import type { ImageRun } from '../run/image-run.ts';
import { writeInFlightImages } from './settle-images.ts';

/**
 * Makes an attempt: fits and writes the request, sends it, polls where the provider wants to be polled, and reads the
 * response into chunks. The attempt fails if the bytes of an image are invalid.
 *
 * @param out receives chunks up to exactly one `finish`
 * @throws {GatewayError} the failure; `retryable` if another endpoint may succeed
 */
export async function attemptImage(
  pipeline: ImagePipeline,
  run: ImageRun,
  attempt: ImageAttempt,
  out: Sink<CheckedImageChunk>,
): Promise<void> {
  const { endpoint, memory } = attempt;
  const { provider, upstreamModel, image: facts } = endpoint;
  const wire = attempt.wire.image;
  const name = `${endpoint.model} at ${provider.name}`;
  if (!wire || !facts) throw new GatewayError('wrong_endpoint', `${name} makes no images.`, { retryable: true });
  if (endpoint.isModerated && pipeline.moderate) await pipeline.moderate(run, endpoint);
  const { fitted, clamped, dropped } = fitImage(run.request, run.references, endpoint, facts);
  const stream = run.request.stream === true && facts.streams && wire.createReader !== undefined;
  const written = wire.writeRequest(fitted, {
    endpoint: name,
    upstreamModel,
    stream,
    dialect: settingsOf(endpoint, attempt.wire),
    ...(run.endUser === undefined ? undefined : { endUser: run.endUser }),
    ...(endpoint.generatesText ? undefined : { imagesOnly: true }),
  });
  attempt.adjustments = clamped;
  attempt.droppedFields = [...dropped, ...written.dropped];
  beginAttempt(pipeline, run, attempt, () => writeInFlightImages(run, attempt));
  const limitBytes = pipeline.limits().answer;
  const exchange = new ImageExchange(run, attempt, wire, { limitBytes, stream });
  const check = new ImageCheck(run, attempt, { ...pipeline.images, limitBytes, count: fitted.count }, out);
  try {
    await dispatch(attempt, () => exchange.run(written, check));
  } catch (error) {
    memory.free();
    throw error;
  } finally {
    check.stop();
  }
}
