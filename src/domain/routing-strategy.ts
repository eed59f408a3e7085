/**
 * How the endpoints of a model are ordered if neither the request nor its workspace says it.
 *
 * @see docs/guides/routing.md#strategies
 */
export const routingStrategies = ['price', 'weighted', 'latency', 'least-busy'] as const;
export type RoutingStrategy = (typeof routingStrategies)[number];
