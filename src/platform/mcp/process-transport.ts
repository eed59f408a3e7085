import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import { McpError, type ProcessMcpServer } from '../../domain/mcp.ts';
import { findExcessFault } from './check-json.ts';

/** Time between SIGTERM and SIGKILL. */
const KILL_MS = 1000;
/** Number of invalid lines after which the process is stopped. */
const MAX_INVALID_LINES = 100;
/** Number of characters at the end of its error output that are kept for the log. */
const MAX_STDERR = 2000;

/** The end of a process. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The end of its error output. */
  stderr: string;
}

/**
 * Runs an MCP server as a process. The process gets `PATH` and the configured environment, and no other variable of the
 * gateway. It leads its own process group, so that its children end with it. When the gateway ends, the kernel kills the
 * process on Linux, and its input ends on other systems.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly server: ProcessMcpServer;
  private readonly maxBytes: number;
  private readonly exited: (end: ProcessEnd) => void;
  private child: ChildProcess | undefined;
  private buffered: Buffer[] = [];
  private bufferedBytes = 0;
  private invalidLines = 0;
  private stderr = '';
  private killer: NodeJS.Timeout | undefined;

  /** @param exited called when the process has ended, for any reason */
  constructor(server: ProcessMcpServer, maxBytes: number, exited: (end: ProcessEnd) => void) {
    this.server = server;
    this.maxBytes = maxBytes;
    this.exited = exited;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.server;
    const path = env['PATH'] ?? process.env['PATH'] ?? '';
    const [file, ...before] = withParent(findProgram(command, path, cwd), process.env['PATH'] ?? '');
    const child = spawn(file!, [...before, ...args], {
      env: { PATH: path, ...env },
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      shell: false,
      windowsHide: true,
    });
    this.child = child;
    running.add(this);
    child.stdout.on('data', (piece: Buffer) => this.read(piece));
    child.stderr.on('data', (piece: Buffer) => {
      this.stderr = (this.stderr + piece.toString('utf8')).slice(-MAX_STDERR);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
    child.once('close', (code, signal) => this.end(code, signal));
    return new Promise((started, failed) => {
      child.once('spawn', started);
      child.once('error', (error: NodeJS.ErrnoException) => {
        running.delete(this);
        failed(
          new McpError('unavailable', `The program of the MCP server cannot be started (${error.code ?? error.name}).`),
        );
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.child ?? {};
    if (!stdin?.writable) return Promise.reject(ended());
    return new Promise((sent, failed) => {
      stdin.write(serializeMessage(message), (error) => (error ? failed(ended()) : sent()));
    });
  }

  close(): Promise<void> {
    this.kill();
    return Promise.resolve();
  }

  /** Ends the process and its children. */
  private kill(): void {
    if (!this.child || this.killer) return;
    this.child.stdin?.end();
    this.signal('SIGTERM');
    this.killer = setTimeout(() => this.signal('SIGKILL'), KILL_MS);
  }

  /** Kills the process and its children immediately. */
  killNow(): void {
    this.signal('SIGKILL');
  }

  private signal(signal: NodeJS.Signals): void {
    const { pid } = this.child ?? {};
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal); // the group
    } catch {
      // it has ended
    }
  }

  private end(code: number | null, signal: NodeJS.Signals | null): void {
    clearTimeout(this.killer);
    this.signal('SIGKILL'); // its remaining children
    running.delete(this);
    this.child = undefined;
    this.exited({ code, signal, stderr: this.stderr });
    this.onclose?.();
  }

  private read(piece: Buffer): void {
    let from = 0;
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, from)) {
      const line = Buffer.concat([...this.buffered.splice(0), piece.subarray(from, at)]);
      this.bufferedBytes = 0;
      from = at + 1;
      if (line.length > this.maxBytes) {
        this.overflow();
        return;
      }
      const fault = findExcessFault(line);
      if (fault) {
        this.fail(fault);
        return;
      }
      this.receive(line.toString('utf8'));
    }
    const rest = piece.subarray(from);
    this.buffered.push(rest);
    this.bufferedBytes += rest.length;
    if (this.bufferedBytes > this.maxBytes) this.overflow();
  }

  private overflow(): void {
    this.fail(new McpError('limit', `The MCP server sent a message of more than ${this.maxBytes} bytes.`));
  }

  private fail(error: McpError): void {
    this.buffered = [];
    this.bufferedBytes = 0;
    this.onerror?.(error);
    this.kill();
  }

  private receive(line: string): void {
    if (line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line.replace(/\r$/, ''));
    } catch {
      if (++this.invalidLines === MAX_INVALID_LINES) this.kill();
      return;
    }
    this.onmessage?.(message);
  }
}

const ended = (): McpError => new McpError('unavailable', 'The process of the MCP server has ended.');

/** Processes that have not ended. */
const running = new Set<ProcessTransport>();
process.once('exit', () => {
  for (const transport of running) transport.killNow();
});

/**
 * Returns the absolute path of a program. A shell is never used.
 *
 * @throws {McpError} if `PATH` does not have it
 */
function findProgram(command: string, path: string, cwd: string | undefined): string {
  if (isAbsolute(command)) return command;
  if (command.includes('/')) return resolve(cwd ?? '', command);
  const found = findIn(path, command);
  if (found === undefined) throw new McpError('unavailable', 'The program of the MCP server is not in PATH.');
  return found;
}

function findIn(path: string, name: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** On Linux with util-linux, the kernel kills the process when the gateway is killed. */
function withParent(file: string, path: string): string[] {
  const setpriv = process.platform === 'linux' ? findIn(path, 'setpriv') : undefined;
  return setpriv === undefined ? [file] : [setpriv, '--pdeathsig', 'KILL', '--', file];
}
