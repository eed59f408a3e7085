import { checkedSyscalls, deniedSyscalls, missingSyscalls } from '../../src/platform/sandbox/bubblewrap/syscalls.ts';
import type { SandboxLimits } from '../../src/platform/sandbox/sandbox.ts';

/** An attempt to leave a sandbox, to see what it must not see, or to use more than it may. */
export interface EscapeAttempt {
  name: string;
  /**
   * Runs in the sandbox. It gets what it attacks in variables: HOST_PID, HOST_PORT, HOST_ADDRESS, SECRET_FILE,
   * SECRET_FOLDER, UNIX_SOCKET, ABSTRACT_SOCKET, DATA_FOLDER.
   */
  command: string;
  /** What the result must match: `exit=<code>`, `timeout` or `ended=<problem>`, then both outputs. */
  contained: RegExp;
  /** What it must match outside, where it works: so that the attempt itself is known to be right. */
  outside?: RegExp;
  /** Runs in a sandbox of its own with these limits. */
  limits?: Partial<SandboxLimits>;
  timeoutMs?: number;
}

const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';
const numberOf = (call: { x64: number; arm64: number }): number => call[architecture];

/** Makes a system call with Perl and prints its result and the error number. */
const perlCall = (call: { x64: number; arm64: number }, ...rest: (string | number)[]): string =>
  `perl -e '$! = 0; my $r = syscall(${[numberOf(call), ...rest].join(', ')}); print "result=$r errno=", $! + 0, "\\n"'`;
const EPERM = /result=-1 errno=1\n/;
const ENOSYS = /result=-1 errno=38\n/;
const isNotDenied = /result=-?\d+ errno=(?!1\n|38\n)\d+\n/;

/** Socket with Perl: prints the error number. */
const perlSocket = (family: number, type: number, protocol = 0): string =>
  `perl -e '$! = 0; socket(my $s, ${family}, ${type}, ${protocol}); print "errno=", $! + 0, "\\n"'`;

const connect = (host: string, port: string): string =>
  `if (exec 5<>/dev/tcp/${host}/${port}) 2>/dev/null; then echo connected; else echo failed; fi`;

const processes: EscapeAttempt[] = [
  { name: 'see other processes', command: 'ls -d /proc/$HOST_PID 2>&1', contained: /No such file/, outside: /^exit=0/ },
  {
    name: 'read the environment of other processes',
    command: 'grep -a -l -r HOST_SECRET_VALUE /proc/[0-9]*/environ 2>/dev/null; echo done',
    contained: /^exit=0\ndone\n\n$/,
    outside: /environ\n/,
  },
  {
    name: 'read the environment of process 1',
    command: 'tr "\\0" "\\n" </proc/1/environ',
    contained: /^exit=0\n(?!.*(HEADGATE|SECRET|VITEST|npm_))/s,
  },
  { name: 'kill a process of the host', command: 'kill -9 $HOST_PID', contained: /^exit=1\n.*No such process/s },
  { name: 'kill everything', command: 'kill -9 -1; echo alive', contained: /^exit=137\n/ },
  {
    name: 'kill process 1',
    command: 'kill -9 1; kill -SEGV 1; kill -TERM 1; kill -STOP 1; sleep 0.1; echo alive',
    contained: /^exit=0\nalive\n/,
  },
  { name: 'trace process 1', command: perlCall(deniedSyscalls.ptrace, 16, 1, 0, 0), contained: EPERM },
  {
    name: 'trace a process of its own',
    command: perlCall(deniedSyscalls.ptrace, 0, 0, 0, 0),
    contained: EPERM,
    outside: /result=0 /,
  },
  {
    name: 'read the memory of another process',
    command: `sleep 5 >/dev/null 2>&1 & ${perlCall(deniedSyscalls.process_vm_readv, "'$!'+0", 0, 0, 0, 0, 0)}`,
    contained: EPERM,
    outside: isNotDenied,
  },
  {
    name: 'take a file of process 1',
    command: perlCall(deniedSyscalls.pidfd_getfd, 0, 0, 0),
    contained: EPERM,
    outside: isNotDenied,
  },
  { name: 'get more priority', command: 'renice -n -5 $$ 2>&1', contained: /^exit=1\n/ },
  {
    name: 'get the priority of real time',
    command: 'chrt -f 5 echo real 2>&1',
    contained: /^exit=1\n.*not permitted/s,
  },
  {
    name: 'use the CPU that the gateway has for itself',
    command: perlCall(deniedSyscalls.sched_setaffinity, 0, 0, 0),
    contained: EPERM,
    outside: isNotDenied,
  },
  {
    name: 'raise its limits',
    command: 'ulimit -Hn 100000; ulimit -Hu unlimited; ulimit -Hf unlimited; ulimit -Hn',
    contained: /^exit=0\n1024\n.*(cannot modify limit.*){3}/s,
  },
  { name: 'be spared when memory is short', command: 'echo -1000 >/proc/self/oom_score_adj', contained: /^exit=1\n/ },
  {
    name: 'use files that the gateway has open',
    command: 'ls -l /proc/self/fd /proc/1/fd',
    contained: /^exit=0\n(?!.*secret)(?!.* [4-9] -> )/s,
  },
];

const hostFiles: EscapeAttempt[] = [
  {
    name: 'read a file of the host',
    command: 'cat "$SECRET_FILE" 2>&1',
    contained: /No such file/,
    outside: /the secret/,
  },
  {
    name: 'read the passwords of the host',
    command: 'cat /etc/shadow /etc/gshadow 2>&1; wc -l </etc/passwd',
    contained: /No such file.*\n3\n/s,
  },
  {
    name: 'read home folders',
    command: 'ls /root /home /srv /opt /mnt /media /boot 2>&1',
    contained: /^exit=2\n(ls: .*No such file.*\n){7}\n$/,
  },
  {
    name: 'see the data folder',
    command: 'ls "$DATA_FOLDER" 2>&1; ls /var',
    contained: /No such file or directory\ntmp\n\n$/,
    outside: /^exit=0/,
  },
  { name: 'find sockets of services', command: 'ls /run /var/run 2>&1', contained: /headgate\n/ },
  {
    name: 'leave through /proc',
    command:
      'ls "/proc/1/root/$SECRET_FOLDER" "/proc/self/root/../$SECRET_FOLDER" "/proc/1/cwd/../../..$SECRET_FOLDER" 2>&1',
    contained: /^exit=2\n(ls: .*(No such file|Permission denied).*\n){3}\n$/,
  },
  {
    name: 'write to the system',
    command: 'touch /usr/bin/x /usr/x /etc/x /bin/x /x /dev/x /run/x /proc/x /workspace/x 2>&1',
    contained: /^exit=1\n(touch: .*(Read-only|No such file|Permission denied|not permitted).*\n){9}\n$/,
  },
  {
    name: 'write to what the gateway reads',
    command: 'touch /run/headgate/x; rm -f /run/headgate/*; ls /run/headgate | grep -c status',
    contained: /^exit=0\n[1-9]\d*\n.*Read-only/s,
  },
  {
    name: 'change /etc/passwd',
    command: 'echo "x::0:0::/:/bin/sh" >>/etc/passwd',
    contained: /^exit=1\n.*(Read-only|denied)/s,
  },
  {
    name: 'see devices and drivers',
    command: 'ls /sys /dev/mem /dev/kmsg /dev/sda /dev/vda /dev/kvm /dev/net /dev/fuse /dev/loop0 2>&1',
    contained: /^exit=2\n(ls: .*No such file.*\n){9}\n$/,
  },
  { name: 'see consoles', command: 'ls /dev; cat /dev/tty', contained: /^exit=1\n(?!.*(console|tty0|ttyS))/s },
  {
    name: 'create a device',
    command: 'mknod d b 8 0; mknod e c 1 1; ls',
    contained: /^exit=0\n\n?.*not permitted.*not permitted/s,
  },
  {
    name: 'change the kernel',
    command:
      'for f in kernel/core_pattern kernel/modprobe vm/overcommit_memory fs/suid_dumpable kernel/hostname; do echo x >/proc/sys/$f; done',
    contained: /^exit=1\n.*((denied|Read-only|No such file).*){5}/s,
  },
  { name: 'reboot with a key', command: 'echo h >/proc/sysrq-trigger', contained: /^exit=1\n/ },
  {
    name: 'read the memory of the kernel',
    command: 'head -c 1 /proc/kcore; head -c 1 /proc/kmsg; cat /proc/kallsyms | grep -v "^0* "',
    contained: /^exit=1\n(?!.*[0-9a-f]{8} T)/s,
  },
  {
    name: 'leave with chroot',
    command: `mkdir -p r; ${perlCall(deniedSyscalls.chroot, 'my $path = "r"')}`,
    contained: EPERM,
  },
  {
    name: 'link a file of the system into the home folder',
    command: 'ln /usr/bin/env e; ln /etc/passwd p; ls',
    contained: /^exit=0\n(?!e|p).*(cross-device|Read-only|not permitted).*(cross-device|Read-only|not permitted)/s,
  },
  {
    name: 'open a file by its number',
    command: perlCall(deniedSyscalls.open_by_handle_at, 0, 0, 0),
    contained: EPERM,
    outside: isNotDenied,
  },
];

const privileges: EscapeAttempt[] = [
  {
    name: 'have rights',
    command: 'grep -E "^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):" /proc/self/status',
    contained: /^exit=0\nCapPrm:\t0+\nCapEff:\t0+\nCapBnd:\t0+\nCapAmb:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n/,
  },
  {
    name: 'become root',
    command: `perl -e '$! = 0; $> = 0; $< = 0; print "$< $> ", $! + 0, "\\n"'; id -u`,
    contained: /1000 1000 (1|22)\n1000\n/,
  },
  {
    name: 'become root with setuid files',
    command:
      'cp /bin/bash own; chmod 6755 own; ./own -p -c "id -u; id -ru"; find /usr -perm -4000 -name su -exec {} -c id \\; </dev/null 2>&1',
    contained: /\n1000\n1000\n(?!.*uid=0)/s,
  },
  { name: 'map users', command: 'echo "0 0 1" >/proc/self/uid_map', contained: /^exit=1\n/ },
  { name: 'create a user namespace', command: 'unshare -U true', contained: /^exit=1\n.*not permitted/s },
  ...['0x10000000', '0x20000', '0x20000000', '0x40000000', '0x8000000', '0x4000000', '0x2000000'].map((flag) => ({
    name: `create a process with the namespace flag ${flag}`,
    command: perlCall(checkedSyscalls.clone, `${flag} | 17`, 0, 0, 0, 0),
    contained: EPERM,
  })),
  {
    name: 'enter a namespace',
    command: `perl -e 'open(my $f, "<", "/proc/1/ns/mnt"); $! = 0; my $r = syscall(${numberOf(deniedSyscalls.setns)}, fileno($f) || 0, 0); print "result=$r errno=", $! + 0, "\\n"'`,
    contained: EPERM,
  },
  {
    name: 'mount',
    command:
      'mount -t tmpfs x /tmp; mount --bind /usr home; mount -t proc x /proc; umount /usr; mount -o remount,rw /usr',
    contained: /^exit=(?!0)/,
  },
  {
    name: 'type into a terminal',
    command: `perl -e 'open(my $t, "+<", "/dev/ptmx"); my $key = "x"; $! = 0; my $r = ioctl($t, 0x5412, $key); print defined $r ? "typed" : "errno=" . ($! + 0), "\\n"'`,
    contained: /errno=1\n/,
  },
];

/** System calls that must fail, whatever their arguments. Those that could harm a host are not tried outside. */
const kernelCalls: EscapeAttempt[] = (
  [
    'acct',
    'add_key',
    'bpf',
    'delete_module',
    'fanotify_init',
    'finit_module',
    'fsopen',
    'init_module',
    'io_uring_enter',
    'io_uring_setup',
    'kcmp',
    'kexec_load',
    'keyctl',
    'mount_setattr',
    'move_mount',
    'open_tree',
    'perf_event_open',
    'pivot_root',
    'quotactl',
    'reboot',
    'request_key',
    'sethostname',
    'settimeofday',
    'swapon',
    'syslog',
    'unshare',
    'userfaultfd',
    'clock_settime',
    'name_to_handle_at',
    'process_madvise',
  ] as const
).map((name) => ({
  name: `call ${name}`,
  command: perlCall(deniedSyscalls[name], -1, 0, 0, 0, 0),
  contained: EPERM,
}));

const missingCalls: EscapeAttempt[] = [
  ...(['memfd_create', 'memfd_secret', 'msgget', 'semget', 'clone3'] as const).map((name) => ({
    name: `call ${name}`,
    command: perlCall(missingSyscalls[name], 0, 0, 0, 0),
    contained: ENOSYS,
    ...(name === 'msgget' ? { outside: isNotDenied } : undefined),
  })),
  { name: 'call what later kernels add', command: perlCall({ x64: 470, arm64: 470 }, 0), contained: ENOSYS },
  ...(architecture === 'x64'
    ? [
        {
          name: 'call with the numbers of x32',
          command: perlCall({ x64: 0x4000_0000 + 101, arm64: 0 }, 0),
          contained: ENOSYS,
        },
      ]
    : []),
];

const network: EscapeAttempt[] = [
  {
    name: 'find a network',
    command: 'grep -c : /proc/net/dev; tail -n +2 /proc/net/route | wc -l',
    contained: /^exit=0\n1\n0\n/,
  },
  {
    name: 'reach services of the host on loopback',
    command: connect('127.0.0.1', '$HOST_PORT'),
    contained: /\nfailed\n/,
    outside: /connected/,
  },
  {
    name: 'reach the host by its own address',
    command: connect('$HOST_ADDRESS', '$HOST_PORT'),
    contained: /\nfailed\n/,
  },
  { name: 'reach loopback over IPv6', command: connect('::1', '$HOST_PORT'), contained: /\nfailed\n/ },
  {
    name: 'reach the metadata of a cloud',
    command: connect('169.254.169.254', '80'),
    contained: /\nfailed\n/,
    timeoutMs: 30_000,
  },
  {
    name: 'reach private networks',
    command: `${connect('10.0.0.1', '80')}; ${connect('192.168.0.1', '80')}; ${connect('172.17.0.1', '2375')}`,
    contained: /\nfailed\nfailed\nfailed\n/,
    timeoutMs: 30_000,
  },
  { name: 'reach the internet', command: connect('192.0.2.1', '443'), contained: /\nfailed\n/, timeoutMs: 30_000 },
  { name: 'send datagrams', command: '(echo x >/dev/udp/192.0.2.1/53) 2>&1', contained: /unreachable/ },
  { name: 'resolve names', command: 'getent hosts example.com; echo "code=$?"', contained: /code=2\n/ },
  { name: 'use raw sockets', command: perlSocket(2, 3, 1), contained: /errno=1\n/ },
  { name: 'use packet sockets', command: perlSocket(17, 3, 768), contained: /errno=97\n/ },
  { name: 'reach the hypervisor', command: perlSocket(40, 1), contained: /errno=97\n/ },
  { name: 'use the cryptography of the kernel', command: perlSocket(38, 5), contained: /errno=97\n/ },
  { name: 'use Bluetooth', command: perlSocket(31, 3, 1), contained: /errno=97\n/ },
  {
    name: 'use netlink beyond routes',
    command: `${perlSocket(16, 3, 9)}; ${perlSocket(16, 3, 12)}; ${perlSocket(16, 3, 16)}`,
    contained: /errno=97\nerrno=97\nerrno=97\n/,
  },
  {
    name: 'configure the network',
    command: 'ip link set lo down 2>&1; ip addr add 10.0.0.2/24 dev lo 2>&1; ip tuntap add mode tap 2>&1',
    contained: /^exit=(?!0)/,
  },
  {
    name: 'connect to a socket file of the host',
    command: `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); print connect($s, sockaddr_un($ENV{UNIX_SOCKET})) ? "connected" : "failed", "\\n"'`,
    contained: /\nfailed\n/,
    outside: /connected/,
  },
  {
    name: 'connect to an abstract socket of the host',
    command: `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); print connect($s, pack("S a*", 1, "\\0$ENV{ABSTRACT_SOCKET}")) ? "connected" : "failed", "\\n"'`,
    contained: /\nfailed\n/,
    outside: /connected/,
  },
];

const MIB = 2 ** 20;
const resources: EscapeAttempt[] = [
  {
    name: 'a fork bomb',
    command: 'bomb() { bomb | bomb & }; bomb; sleep 3; echo over',
    contained: /^(exit=|timeout|ended=crashed)/,
    limits: { processes: 64 },
    timeoutMs: 6000,
  },
  {
    name: 'a fork bomb in sessions of its own',
    command: 'bomb() { setsid bash -c "$(declare -f bomb); bomb & bomb & sleep 2" & }; bomb; sleep 3',
    contained: /^(exit=|timeout|ended=crashed)/,
    limits: { processes: 64 },
    timeoutMs: 6000,
  },
  {
    name: 'more processes than allowed',
    command: `perl -e 'for my $n (1 .. 200) { my $child = fork; if (!defined $child) { print "stopped at $n\\n"; last } if (!$child) { sleep 60; exit } }'`,
    contained: /stopped at [3-6]\d\n/,
    limits: { processes: 64 },
  },
  {
    name: 'more threads than allowed',
    command: `python3 -c 'import threading, time\nfor i in range(500): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()' 2>&1 | tail -1`,
    contained: /can't start new thread|not found|^ended=/,
    limits: { processes: 64 },
  },
  {
    name: 'a memory bomb of one process',
    command: `perl -e 'my @a; push @a, "x" x 1_000_000 while 1'`,
    contained: /^ended=memory|^exit=137/,
    limits: { memoryBytes: 128 * MIB },
    timeoutMs: 60_000,
  },
  {
    name: 'a memory bomb of many processes',
    command: `for i in 1 2 3 4 5 6 7 8; do perl -e 'my $a = "x" x 60_000_000; sleep 50' & done; wait`,
    contained: /^ended=memory/,
    limits: { memoryBytes: 200 * MIB },
    timeoutMs: 40_000,
  },
  {
    name: 'memory of sockets',
    command: `perl -MSocket -e 'my @s; my $d = "x" x 100000; for (1 .. 480) { socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or last; $a->blocking(0); syswrite($a, $d); push @s, $a, $b } print scalar(@s), "\\n"; sleep 20'`,
    contained: /^ended=memory/,
    limits: { memoryBytes: 64 * MIB },
    timeoutMs: 30_000,
  },
  {
    name: 'shared memory without a process',
    command: `perl -e 'print defined shmget(0, 100_000_000, 0600) ? "got" : "failed", "\\n"'`,
    contained: /\nfailed\n/,
    outside: /got/,
  },
  {
    name: 'a large file',
    command: 'head -c 100000000 /dev/zero >f; ls -s f',
    contained: /^(ended=disk|exit=\d+\n.*File size limit|exit=\d+\n(?!.*97660))/s,
    limits: { diskBytes: 16 * MIB },
  },
  {
    name: 'a large file with a hole',
    command: 'truncate -s 1T f; echo "code=$?"',
    contained: /code=1\n|File size limit|code=153/,
    limits: { diskBytes: 16 * MIB },
  },
  {
    name: 'a full disk by many files',
    command: 'for i in $(seq 10000); do head -c 1000000 /dev/zero >f$i || exit; done',
    contained: /^ended=disk/,
    limits: { diskBytes: 32 * MIB },
  },
  {
    name: 'a full disk by allocation',
    command: 'for i in $(seq 10000); do fallocate -l 8M f$i || exit; done',
    contained: /^ended=disk/,
    limits: { diskBytes: 32 * MIB },
  },
  {
    name: 'a million small files',
    command: 'mkdir d; cd d; perl -e \'for (1 .. 1_000_000) { open(my $f, ">", $_) or die }\'; echo all',
    contained: /^ended=disk/,
    limits: { diskEntries: 5000 },
    timeoutMs: 60_000,
  },
  {
    name: 'a million files in memory',
    command: 'cd /tmp; perl -e \'for (1 .. 1_000_000) { open(my $f, ">", $_) or die }\'; echo all',
    contained: /^ended=disk|No space/,
    limits: { diskEntries: 5000 },
    timeoutMs: 60_000,
  },
  {
    name: 'a full /tmp',
    command: 'head -c 100000000 /dev/zero >/tmp/f; df -k --output=size /tmp | tail -1',
    contained: /\n +8192\n.*No space/s,
  },
  { name: 'a full /dev/shm', command: 'head -c 100000000 /dev/zero >/dev/shm/f; rm /dev/shm/f', contained: /No space/ },
  { name: 'endless output', command: 'yes', contained: /^timeout\n(y\n)+\n$/, timeoutMs: 5000 },
  {
    name: 'endless output without lines, on both outputs',
    command: 'cat /dev/zero & cat /dev/zero >&2',
    contained: /^timeout\n\0+\n\0+$/,
    timeoutMs: 5000,
  },
  {
    name: 'an endless loop that ignores signals',
    command: 'trap "" TERM INT HUP QUIT; while :; do :; done',
    contained: /^timeout/,
    timeoutMs: 1000,
  },
  {
    name: 'more open files than allowed',
    command: `perl -e 'my @f; while (open(my $f, "<", "/dev/null")) { push @f, $f } print "opened ", scalar(@f), "\\n"'`,
    contained: /opened 10\d\d\n/,
  },
  {
    name: 'more watches than allowed',
    command: perlCall({ x64: 294, arm64: 26 }, 0),
    contained: /errno=24\n/,
    outside: /result=\d/,
  },
];

const outputs: EscapeAttempt[] = [
  {
    name: 'forge the end of a command',
    command: 'for f in /run/headgate/*.status; do printf "1\\n999999\\n\\xff\\n" >$f; done 2>/dev/null; exit 5',
    contained: /^(exit=\d{1,3}|timeout|ended=crashed)\n/,
    limits: {}, // it can forge the ends of later commands, too
    timeoutMs: 3000,
  },
  {
    name: 'write of more than the end',
    command: 'for i in $(seq 100); do echo 7; done | tee /run/headgate/*.status >/dev/null; exit 3',
    contained: /^(exit=\d{1,3}|timeout|ended=crashed)\n/,
    limits: {},
    timeoutMs: 3000,
  },
  {
    name: 'leave processes behind',
    command:
      'for i in 1 2 3; do setsid bash -c "trap \'\' TERM HUP; exec -a escape-left-behind sleep 3000" & done; (nohup sleep 3001 &) >/dev/null 2>&1; echo left',
    contained: /^exit=0\nleft\n/,
  },
  { name: 'close everything', command: 'exec 0<&- 1>&- 2>&-; exit 4', contained: /^exit=4\n/ },
  {
    name: 'end the session of the command',
    command: 'setsid bash -c "kill -9 -- -$$; kill -9 $PPID; sleep 0.2"; echo not-reached',
    contained: /^exit=137\n/,
  },
];

/** All attempts in order. Each works on a system where others failed. */
export const escapeAttempts: readonly EscapeAttempt[] = [
  ...processes,
  ...hostFiles,
  ...privileges,
  ...kernelCalls,
  ...missingCalls,
  ...network,
  ...resources,
  ...outputs,
];
