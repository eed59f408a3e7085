import type { Charge, PlannedCharge } from '../../domain/charge.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { ImageEvent } from '../../domain/image-events.ts';
import type { HostedTool } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import type { DeferredTool, ResumedCall, ServerTool, ToolEvent } from '../../tools/server-tool.ts';
import type { ImageAdjustments, InnerImageRequest } from '../images/create-inner-image.ts';
import type { InnerRequest } from '../respond.ts';
import type { Run } from '../run/run.ts';

/** A server tool as a request offers it. */
export interface OfferedServerTool {
  readonly tool: ServerTool;
  /** `tools[0]`: its entry in the request. */
  readonly path: string;
  /** The function that the model sees. */
  readonly name: string;
  /** Position among the entries of the tool in the request, from 0. */
  readonly instance: number;
  /** Parts that all entries of the tool share. */
  readonly shared: SharedByEntries;
  /** `tools[].parameters`, checked. */
  readonly parameters: Record<string, unknown>;
  /** The tool of the request that it replaces, if the provider has none. */
  readonly hosted: HostedTool | undefined;
  /** The tools of the request with `defer_loading`. */
  readonly deferred: readonly DeferredTool[];
}

/** Parts that the entries of a tool in a request share. */
export interface SharedByEntries {
  /** Number of entries. */
  entries: number;
  /** Number of calls that have begun. */
  begun: number;
  /** Belongs to the tool. */
  readonly memory: Record<string, unknown>;
}

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
  /** Sends events of the item to the client. */
  emit(events: readonly ToolEvent[]): MaybePromise<void>;
}

/** A call of a server tool that has ended, or that did not run. Telemetry reads it. */
export interface ToolCallRecord {
  /** The type of the tool. Undefined: the model named none of the gateway. */
  readonly tool: string | undefined;
  /** The number of its step, or of the next one if it ran before the first. */
  readonly step: number;
  /** performance.now(). */
  readonly startedAt: number;
  readonly endedAt: number;
  /** `ok`, or the class of the failure. */
  readonly outcome: string;
}
