/** The testing kit, published as `headgate/testing`. */
export * from './answers.ts';
export * from './scripted-upstream.ts';
export * from './test-gateway.ts';
export * from './replay.ts';
