import type { Cancellation } from '../../domain/cancellation.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ToolCallContext } from '../../tools/server-tool.ts';
import { EventFold } from '../events/fold-events.ts';
import type { Run } from '../run/run.ts';
import { ImageCollector } from './image-collector.ts';
import type { CallPorts, PlannedCall } from './planned-call.ts';

/** Returns the id of the caller's request. A request of a tool shares the containers of the request that it serves. */
export const nameRequest = ({ generationId, parent }: Pick<Run, 'generationId' | 'parent'>): string =>
  parent?.generationId ?? generationId;

/** Creates what a tool gets for one call. @param cancellation of the call */
export function createCallContext(
  run: Run,
  { offered, callId, itemId, model, takesImages, emit }: PlannedCall,
  { charge, respond, createImage }: CallPorts,
  cancellation: Cancellation,
): ToolCallContext {
  const { tool, shared, deferred, instance, hosted } = offered;
  return {
    get signal() {
      return cancellation.signal;
    },
    cancellation,
    deferred,
    instance,
    model,
    takesImages,
    callId,
    itemId,
    emit,
    isHosted: hosted !== undefined,
    requestId: nameRequest(run),
    showsOutput: run.showsToolOutput === true && run.request.stream === true,
    memory: shared.memory,
    caller: run.caller,
    request: run.request,
    now: currentTimeMs,
    earlierCalls: shared.begun++,
    conversation: () => run.input.read(),
    charge: (planned) => charge(run, planned),
    async respond(request, onEvents, own = cancellation) {
      const fold = new EventFold();
      const sink: Sink<ResponseEvent> = {
        write(events) {
          fold.write(events);
          return onEvents?.(events) ?? undefined;
        },
      };
      const { timeoutMs } = tool;
      const servedTool = tool.isNested ? undefined : tool.type;
      await respond(
        { request, timeoutMs, parent: run, servedTool, cancellation: own, isNew: true, addsUsage: true },
        sink,
      );
      return fold.response;
    },
    async createImage(request, onPartial) {
      const collector = new ImageCollector(onPartial);
      const { timeoutMs } = tool;
      const { clamped, dropped } = await createImage({ request, timeoutMs, parent: run, cancellation }, collector);
      return { image: collector.image!, adjustments: [...clamped, ...dropped] }; // a generation ends with an image
    },
    fail(message) {
      throw Object.assign(new Error(message), { name: 'ToolError' });
    },
  };
}
