import { constants, closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';

/** Bytes of one pipe that are read and dropped before a pause, so that a flood does not occupy the gateway. */
const DROPPED_PER_PAUSE = 262_144;
const PAUSE_MS = 5;
/** Pause while nothing comes. */
const IDLE_PAUSE_MS = 25;
/** Dropped bytes are read into the same memory. */
const scratch = Buffer.alloc(65_536);
/** Maximum bytes of a pipe. An ordinary user can enlarge it so far. */
const MAX_PIPE_BYTES = 1_048_576;

/** The read end of a named pipe that processes of a sandbox write. Its content is untrusted and can be endless. */
export class PipeReader {
  readonly #fd: number;
  readonly #socket: Socket;
  readonly #maxBytes: number;
  readonly #onBytes: ((bytes: Buffer) => void) | undefined;
  readonly #pieces: Buffer[] = [];
  #kept = 0;
  #dropped = 0;
  #poll: NodeJS.Timeout | undefined;
  #isOpen = true;
  #keeps = true;
  /** Called when no process has the pipe open. */
  onEnd: (() => void) | undefined;

  /**
   * @param path of a pipe in a folder that the sandbox cannot change
   * @throws if it is not a pipe
   */
  constructor(path: string, maxBytes: number, onBytes?: (bytes: Buffer) => void) {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (!fstatSync(fd).isFIFO()) {
      closeSync(fd);
      throw new Error('a pipe of a sandbox is not a pipe');
    }
    this.#fd = fd;
    this.#maxBytes = maxBytes;
    this.#onBytes = onBytes;
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.#socket.on('data', (bytes: Buffer) => this.#take(bytes));
    this.#socket.on('end', () => this.#finish());
    this.#socket.on('error', () => this.#finish());
  }

  /** The kept bytes. */
  get content(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  get droppedBytes(): number {
    return this.#dropped;
  }

  /** Reads what is in the pipe now, and what the socket had read before its pause. */
  drain(): void {
    while (this.#isOpen && this.#socket.read() !== null); // given to #take
    this.#readUpTo(MAX_PIPE_BYTES);
  }

  /** @returns why it stopped: the pipe has ended, is empty for now, or has more */
  #readUpTo(bytes: number): 'end' | 'empty' | 'more' {
    for (let total = 0; this.#isOpen && total < bytes; ) {
      let length: number;
      try {
        length = readSync(this.#fd, scratch);
      } catch {
        return 'empty'; // EAGAIN
      }
      if (length === 0) return 'end';
      total += length;
      this.#keep(scratch.subarray(0, length));
    }
    return 'more';
  }

  /** Drops everything that still comes. Processes in the background can go on writing. */
  ignoreRest(): void {
    this.#keeps = false;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#poll);
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (!this.#isOpen || this.#keep(bytes) === 0 || this.#poll) return;
    // From now on, everything is dropped. A socket would read it as fast as it comes.
    this.#socket.pause();
    this.#pollAfter(PAUSE_MS);
  }

  #pollAfter(delayMs: number): void {
    this.#poll = setTimeout(() => {
      if (!this.#isOpen) return;
      // The socket is not read here: it would fill again, and each of its buffers is 64 KiB of garbage.
      const state = this.#readUpTo(DROPPED_PER_PAUSE);
      if (state === 'end') {
        this.drain();
        this.#finish();
      } else this.#pollAfter(state === 'more' ? PAUSE_MS : IDLE_PAUSE_MS);
    }, delayMs);
  }

  /** @returns the number of dropped bytes */
  #keep(bytes: Buffer): number {
    if (!this.#keeps) return bytes.length;
    const kept = bytes.subarray(0, this.#maxBytes - this.#kept);
    if (kept.length > 0) {
      this.#kept += kept.length;
      this.#pieces.push(Buffer.from(kept));
      this.#onBytes?.(Buffer.from(kept));
    }
    const dropped = bytes.length - kept.length;
    this.#dropped += dropped;
    return dropped;
  }

  #finish(): void {
    if (!this.#isOpen) return;
    this.close();
    this.onEnd?.();
  }
}
