/** The testing kit, published as `headgate/testing`. */
export * from './answers.ts';
export * from './replay.ts';
export * from './scripted-upstream.ts';
export * from './serve-recordings.ts';
export * from './test-gateway.ts';
