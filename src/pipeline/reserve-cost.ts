import type { Endpoint } from '../providers/provider-entry.ts';
import type { Plan } from '../routing/plan-route.ts';
import type { RunBase } from './run.ts';

/** Holds back what a run may cost; a promise only where it is held elsewhere. @throws {GatewayError} when it may not be spent */
export type Reserve<R extends RunBase> = (
  run: R,
  plan: Plan<Endpoint>,
) => RunBase['reservation'] | Promise<RunBase['reservation']>;

/**
 * Takes a plan over into its run and holds back what it may cost. Of a route that was not paid for nothing is told.
 *
 * @returns the plan; a promise only where the money is held elsewhere
 */
export function reserveCost<R extends RunBase>(
  run: R,
  plan: Plan<Endpoint>,
  reserve: Reserve<R> | undefined,
): Plan<Endpoint> | Promise<Plan<Endpoint>> {
  run.plan = plan;
  run.stages.push(...plan.stages);
  try {
    const held = reserve?.(run, plan);
    if (held instanceof Promise) return awaitReservation(run, plan, held);
    run.reservation = held;
  } catch (error) {
    run.plan = undefined;
    throw error;
  }
  return plan;
}

async function awaitReservation(
  run: RunBase,
  plan: Plan<Endpoint>,
  held: Promise<RunBase['reservation']>,
): Promise<Plan<Endpoint>> {
  try {
    run.reservation = await held;
  } catch (error) {
    run.plan = undefined;
    throw error;
  }
  return plan;
}
