/**
 * The orders of a model's endpoints if neither the request nor its workspace sets one.
 *
 * @see docs/guides/routing.md#strategies
 */
export const routingStrategies = ['price', 'weighted', 'latency', 'least-busy'] as const;
export type RoutingStrategy = (typeof routingStrategies)[number];
