import { describe, expect, it } from 'vitest';
import { buildSeccompFilter, type FilteredArchitecture } from './build-seccomp-filter.ts';
import { checkedSyscalls, deniedSyscalls, exhaustedSyscalls, missingSyscalls } from './syscalls.ts';

const audit = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (code: number): number => 0x50000 | code;

/** Interprets a filter, as the kernel does. */
function decide(filter: Buffer, architecture: number, number: number, ...values: bigint[]): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture >>> 0, 4);
  for (const [index, value] of values.entries()) data.writeBigUInt64LE(value, 16 + 8 * index);
  let word = 0;
  for (let at = 0; ; at++) {
    const [code, ifTrue, ifFalse, value] = [
      filter.readUInt16LE(at * 8),
      filter.readUInt8(at * 8 + 2),
      filter.readUInt8(at * 8 + 3),
      filter.readUInt32LE(at * 8 + 4),
    ];
    const jump = (holds: boolean) => {
      at += holds ? ifTrue : ifFalse;
    };
    if (code === 0x20) word = data.readUInt32LE(value);
    else if (code === 0x15) jump(word === value);
    else if (code === 0x25) jump(word > value);
    else if (code === 0x35) jump(word >= value);
    else if (code === 0x45) jump((word & value) !== 0);
    else if (code === 0x06) return value;
    else throw new Error(`unknown instruction ${code}`);
  }
}

describe.each<FilteredArchitecture>(['x64', 'arm64'])('the filter for %s', (architecture) => {
  const filter = buildSeccompFilter(architecture);
  const call = (number: number, ...values: (number | bigint)[]) =>
    decide(filter, audit[architecture], number, ...values.map(BigInt));
  const numbers = (table: Record<string, { x64: number; arm64: number }>) =>
    Object.values(table)
      .map((one) => one[architecture])
      .filter((number) => number >= 0);

  it('has at most 4,096 instructions, the limit of the kernel', () => {
    expect(filter.length % 8).toBe(0);
    expect(filter.length / 8).toBeLessThan(4096);
  });

  it('kills what runs for another architecture', () => {
    const others = [audit.x64, audit.arm64, 0x40000003, 0x40000028].filter((one) => one !== audit[architecture]);
    for (const other of others) expect(decide(filter, other, 0)).toBe(KILL);
  });

  it('decides by the tables', () => {
    for (const number of numbers(deniedSyscalls)) expect(call(number)).toBe(errno(1));
    for (const number of numbers(missingSyscalls)) expect(call(number)).toBe(errno(38));
    for (const number of numbers(exhaustedSyscalls)) expect(call(number)).toBe(errno(24));
    const known = new Set([deniedSyscalls, missingSyscalls, exhaustedSyscalls, checkedSyscalls].flatMap(numbers));
    const others = Array.from({ length: 464 }, (_, number) => number).filter((number) => !known.has(number));
    expect(others.length).toBeGreaterThan(300);
    for (const number of others) expect(call(number)).toBe(ALLOW);
  });

  it.each([470, 1000, 0x3fffffff, 0x40000000, 0x40000101, 0xffffffff])('does not know the call %i', (number) => {
    expect(call(number)).toBe(errno(38));
  });

  it('lets programs create threads and processes, but no namespaces', () => {
    const clone = checkedSyscalls.clone[architecture];
    expect(call(clone, 0x3d0f00)).toBe(ALLOW); // a thread
    expect(call(clone, 0x1200011)).toBe(ALLOW); // fork
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(call(clone, 17 | flag)).toBe(errno(1));
    }
  });

  it('rejects input for other terminals, also with bits that the kernel ignores', () => {
    const ioctl = checkedSyscalls.ioctl[architecture];
    expect(call(ioctl, 0, 0x5401)).toBe(ALLOW);
    for (const request of [0x5412n, 0x541cn, 0xffffffff00005412n]) expect(call(ioctl, 0, request)).toBe(errno(1));
  });

  it('bounds shared memory', () => {
    const shmget = checkedSyscalls.shmget[architecture];
    expect(call(shmget, 0, 65_536)).toBe(ALLOW);
    for (const size of [65_537n, 0x100000000n, 0xffffffffffffffffn]) expect(call(shmget, 0, size)).toBe(errno(22));
  });

  it('knows files, IPv4, IPv6, and netlink only for routes', () => {
    const { socket, socketpair } = checkedSyscalls;
    for (const family of [1, 2, 10]) expect(call(socket[architecture], family, 1, 0)).toBe(ALLOW);
    for (const family of [0, 3, 17, 31, 38, 40]) expect(call(socket[architecture], family)).toBe(errno(97));
    expect(call(socket[architecture], 16, 3, 0)).toBe(ALLOW);
    expect(call(socket[architecture], 16, 3, 9)).toBe(errno(97));
    expect(call(socketpair[architecture], 1)).toBe(ALLOW);
    expect(call(socketpair[architecture], 2)).toBe(errno(97));
  });
});
