/**
 * Characters, or bytes, of a text that gets turns of the event loop of its own: to be decoded, to be parsed, to be encoded,
 * and for each piece of this length to be passed on. Each step takes up to 5 ms per MiB.
 */
export const TURN_LENGTH = 1024 * 1024;
