import type { Charge, PlannedCharge } from '../../domain/charge.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { ImageEvent } from '../../domain/image-events.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ResumedCall, ToolEvent } from '../../tools/server-tool.ts';
import type { ImageAdjustments, InnerImageRequest } from '../create-inner-image.ts';
import type { InnerRequest } from '../respond.ts';
import type { Run } from '../run/run.ts';
import type { OfferedServerTool } from '../run/server-tools.ts';

/** Parts of the gateway that calls need. */
export interface CallPorts {
  /** Begins a charge of a run. @throws {GatewayError} if it exceeds a limit */
  charge(run: Run, planned: PlannedCharge): MaybePromise<Charge>;
  /** Serves a request of a tool. @throws {GatewayError} if there is no response */
  respond(request: InnerRequest, sink: Sink<ResponseEvent>): Promise<void>;
  /** Creates an image for a tool. @throws {GatewayError} if there is none */
  createImage(request: InnerImageRequest, sink: Sink<ImageEvent>): Promise<ImageAdjustments>;
  /** Called for an unexpected failure of a tool. */
  report(type: string, error: unknown): void;
}

/** A call of a tool. */
export interface PlannedCall {
  readonly offered: OfferedServerTool;
  /** The arguments, checked. */
  readonly input: Record<string, unknown>;
  /** Set if it is a call of an earlier response that was suspended. */
  readonly resumed?: ResumedCall | undefined;
  readonly callId: string;
  readonly itemId: string;
  /** Slug of the model that made the call. */
  readonly model: string;
  /** Whether that model is known to take images. */
  readonly takesImages: boolean;
  /** Sends events of the item to the client. */
  emit(events: readonly ToolEvent[]): MaybePromise<void>;
}
