/** The testing kit, published as `headgate/testing`. */
export * from './scripted-responses.ts';
export * from './replay.ts';
export * from './scripted-upstream.ts';
export * from './serve-recordings.ts';
export * from './test-gateway.ts';
export * from './strict/index.ts';
