import { checkedSyscalls, deniedSyscalls, exhaustedSyscalls, missingSyscalls } from './syscalls.ts';

/** Architectures of Node that the filter knows. */
export type FilteredArchitecture = 'x64' | 'arm64';

// linux/audit.h, linux/seccomp.h and linux/bpf_common.h
const auditArchitectures = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const ERRNO = 0x0005_0000;
const errnos = { EPERM: 1, EMFILE: 24, EINVAL: 22, ENOSYS: 38, EAFNOSUPPORT: 97 };
const LOAD = 0x20; // a 32-bit word of seccomp_data
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_GREATER = 0x25;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;

/** Offsets in `struct seccomp_data`. Arguments have 64 bits; both architectures are little-endian. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (index: number): number => 16 + 8 * index;

/** Calls of the x32 interface have this bit. */
const X32_BIT = 0x4000_0000;
/** Calls with higher numbers came with later kernels, and are not known to be safe. 470 lists namespaces. */
const HIGHEST_NUMBER = 469;
/** All flags of `clone` that create a namespace. */
const NAMESPACE_FLAGS = 0x7e02_0000;
/** Requests of terminals that act for another process: TIOCSTI and TIOCLINUX. */
const terminalRequests = [0x5412, 0x541c];
/** Sockets of files, IPv4, IPv6. Virtual machines, Bluetooth, cryptography and others have no namespace. */
const socketFamilies = [1, 2, 10];
const NETLINK = 16;
/** Largest segment of System V shared memory, which belongs to no process: there are at most 4,096. */
const MAX_SEGMENT_BYTES = 65_536;

/** Instruction: operation, jump if true, jump if false, value. A jump counts the instructions that it skips. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
const end = (action: number): Instruction => [RETURN, 0, 0, action];
const fail = (name: keyof typeof errnos): Instruction => end(ERRNO | errnos[name]);
/** Runs the instructions if the loaded word is the value. */
const ifEqual = (value: number, then: readonly Instruction[]): Instruction[] => [
  [JUMP_IF_EQUAL, 0, then.length, value],
  ...then,
];
const unlessEqual = (value: number, then: readonly Instruction[]): Instruction[] => [
  [JUMP_IF_EQUAL, then.length, 0, value],
  ...then,
];

/**
 * Returns a seccomp filter in classic BPF, as `bwrap --seccomp` reads it. It denies what a sandbox has no use for: other
 * processes, kernel interfaces that were often exploited, namespaces, and memory that nothing counts.
 */
export function buildSeccompFilter(architecture: FilteredArchitecture): Buffer {
  const numbers = (table: Record<string, { x64: number; arm64: number }>) =>
    Object.values(table)
      .map((one) => one[architecture])
      .filter((number) => number >= 0);
  const program: Instruction[] = [
    load(ARCHITECTURE),
    ...unlessEqual(auditArchitectures[architecture], [end(KILL_PROCESS)]),
    load(NUMBER),
    [JUMP_IF_AT_LEAST, 0, 1, X32_BIT],
    fail('ENOSYS'),
    [JUMP_IF_GREATER, 0, 1, HIGHEST_NUMBER],
    fail('ENOSYS'),
    ...numbers(deniedSyscalls).flatMap((number) => ifEqual(number, [fail('EPERM')])),
    ...numbers(missingSyscalls).flatMap((number) => ifEqual(number, [fail('ENOSYS')])),
    ...numbers(exhaustedSyscalls).flatMap((number) => ifEqual(number, [fail('EMFILE')])),
    ...ifEqual(checkedSyscalls.clone[architecture], [
      load(argument(0)),
      [JUMP_IF_ANY_BIT, 0, 1, NAMESPACE_FLAGS],
      fail('EPERM'),
      end(ALLOW),
    ]),
    ...ifEqual(checkedSyscalls.ioctl[architecture], [
      load(argument(1)),
      ...terminalRequests.flatMap((request) => ifEqual(request, [fail('EPERM')])),
      end(ALLOW),
    ]),
    ...ifEqual(checkedSyscalls.shmget[architecture], [
      load(argument(1) + 4),
      ...unlessEqual(0, [fail('EINVAL')]),
      load(argument(1)),
      [JUMP_IF_GREATER, 0, 1, MAX_SEGMENT_BYTES],
      fail('EINVAL'),
      end(ALLOW),
    ]),
    ...ifEqual(checkedSyscalls.socket[architecture], [
      load(argument(0)),
      ...socketFamilies.flatMap((family) => ifEqual(family, [end(ALLOW)])),
      ...unlessEqual(NETLINK, [fail('EAFNOSUPPORT')]),
      load(argument(2)),
      ...unlessEqual(0, [fail('EAFNOSUPPORT')]), // only addresses and routes
      end(ALLOW),
    ]),
    ...ifEqual(checkedSyscalls.socketpair[architecture], [
      load(argument(0)),
      ...unlessEqual(1, [fail('EAFNOSUPPORT')]),
      end(ALLOW),
    ]),
    end(ALLOW),
  ];
  return encode(program);
}

/** `struct sock_filter`: 16 bits, 8, 8, 32, little-endian. */
function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
}
