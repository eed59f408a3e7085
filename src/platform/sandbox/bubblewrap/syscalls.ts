/** Numbers of system calls, which differ by architecture. -1: the architecture does not have it. */
interface SyscallNumbers {
  readonly x64: number;
  readonly arm64: number;
}

const on = (x64: number, arm64: number): SyscallNumbers => ({ x64, arm64 });

/**
 * Calls that fail with EPERM: they reach other processes, the kernel itself, mounts, namespaces, devices, or the CPU that
 * the gateway has for itself.
 */
export const deniedSyscalls = {
  acct: on(163, 89),
  add_key: on(248, 217),
  adjtimex: on(159, 171),
  afs_syscall: on(183, -1),
  bpf: on(321, 280),
  chroot: on(161, 51),
  clock_adjtime: on(305, 266),
  clock_settime: on(227, 112),
  create_module: on(174, -1),
  delete_module: on(176, 106),
  fanotify_init: on(300, 262),
  fanotify_mark: on(301, 263),
  finit_module: on(313, 273),
  fsconfig: on(431, 431),
  fsmount: on(432, 432),
  fsopen: on(430, 430),
  fspick: on(433, 433),
  get_kernel_syms: on(177, -1),
  init_module: on(175, 105),
  io_uring_enter: on(426, 426),
  io_uring_register: on(427, 427),
  io_uring_setup: on(425, 425),
  ioperm: on(173, -1),
  iopl: on(172, -1),
  kcmp: on(312, 272),
  kexec_file_load: on(320, 294),
  kexec_load: on(246, 104),
  keyctl: on(250, 219),
  listmount: on(458, 458),
  lookup_dcookie: on(212, 18),
  mbind: on(237, 235),
  migrate_pages: on(256, 238),
  modify_ldt: on(154, -1),
  mount: on(165, 40),
  mount_setattr: on(442, 442),
  move_mount: on(429, 429),
  move_pages: on(279, 239),
  name_to_handle_at: on(303, 264),
  nfsservctl: on(180, 42),
  open_by_handle_at: on(304, 265),
  open_tree: on(428, 428),
  open_tree_attr: on(467, 467),
  perf_event_open: on(298, 241),
  pidfd_getfd: on(438, 438),
  pivot_root: on(155, 41),
  process_madvise: on(440, 440),
  process_mrelease: on(448, 448),
  process_vm_readv: on(310, 270),
  process_vm_writev: on(311, 271),
  ptrace: on(101, 117),
  query_module: on(178, -1),
  quotactl: on(179, 60),
  quotactl_fd: on(443, 443),
  reboot: on(169, 142),
  request_key: on(249, 218),
  sched_setaffinity: on(203, 122),
  security: on(185, -1),
  set_mempolicy: on(238, 237),
  set_mempolicy_home_node: on(450, 450),
  setdomainname: on(171, 162),
  sethostname: on(170, 161),
  setns: on(308, 268),
  settimeofday: on(164, 170),
  statmount: on(457, 457),
  swapoff: on(168, 225),
  swapon: on(167, 224),
  sysfs: on(139, -1),
  syslog: on(103, 116),
  tuxcall: on(184, -1),
  umount2: on(166, 39),
  unshare: on(272, 97),
  uselib: on(134, -1),
  userfaultfd: on(323, 282),
  ustat: on(136, -1),
  vhangup: on(153, 58),
  vserver: on(236, -1),
  _sysctl: on(156, -1),
} satisfies Record<string, SyscallNumbers>;

/**
 * Calls that fail with ENOSYS, so that programs do without: memory that belongs to no process and is therefore not
 * counted, and `clone3`, whose flags a filter cannot read (the C library then calls `clone`).
 */
export const missingSyscalls = {
  clone3: on(435, 435),
  memfd_create: on(319, 279),
  memfd_secret: on(447, 447),
  msgget: on(68, 186),
  semget: on(64, 190),
} satisfies Record<string, SyscallNumbers>;

/** Calls that fail with EMFILE: what they create counts for the user of the gateway, who could run out of it. */
export const exhaustedSyscalls = {
  inotify_init: on(253, -1),
  inotify_init1: on(294, 26),
} satisfies Record<string, SyscallNumbers>;

/** Calls that are allowed with some arguments. */
export const checkedSyscalls = {
  clone: on(56, 220),
  ioctl: on(16, 29),
  shmget: on(29, 194),
  socket: on(41, 198),
  socketpair: on(53, 199),
} satisfies Record<string, SyscallNumbers>;
