import { accessSync, constants } from 'node:fs';
import { GATEWAY_NODE } from './sandbox.ts';

/** Where programs in a sandbox find the relay to the egress proxy. */
const RELAY_URL = 'http://127.0.0.1:3128';

/** Path of the egress proxy's socket in the sandbox. */
export const PROXY_SOCKET = '/run/headgate-proxy.sock';
/** Exit code of a relay that cannot connect to the socket. */
export const NO_PROXY_SOCKET = 3;

/** Returns the variables of commands in a sandbox with a network. @param proxyUrl absent: that of the relay */
export const writeProxyEnvironment = (proxyUrl: string = RELAY_URL): Record<string, string> => ({
  ...Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, proxyUrl])),
  ...Object.fromEntries(['NO_PROXY', 'no_proxy'].map((name) => [name, 'localhost,127.0.0.1,::1'])),
  NODE_USE_ENV_PROXY: '1',
});

/**
 * Passes connections to port 3128 on to a Unix socket, whose path is the argument. Connects to it once, then says `ready`
 * when it listens. It keeps at most 64 KiB of a connection in each direction.
 */
export const perlRelay = `
use strict; use Socket; use Fcntl; use Errno qw(EAGAIN EINTR);
$SIG{PIPE} = 'IGNORE';
my (%socket, %peer, %kept, %ended, %shut);
sub drop { my @pair = ($_[0], $peer{$_[0]}); for my $n (@pair) { next unless defined $n; delete $_->{$n} for (\\%peer, \\%kept, \\%ended, \\%shut); close(delete $socket{$n}) if $socket{$n}; } }
sub unblock { fcntl($_[0], F_SETFL, fcntl($_[0], F_GETFL, 0) | O_NONBLOCK) }
my $probe; socket($probe, PF_UNIX, SOCK_STREAM, 0) && connect($probe, sockaddr_un($ARGV[0])) or exit ${NO_PROXY_SOCKET}; close($probe);
socket(my $listener, PF_INET, SOCK_STREAM, 0) or exit 1;
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
bind($listener, sockaddr_in(3128, INADDR_LOOPBACK)) && listen($listener, 64) or exit 1;
unblock($listener);
syswrite(STDOUT, "ready\\n"); open(STDOUT, '>', '/dev/null');
while (1) {
  my ($read, $write) = ('', '');
  vec($read, fileno($listener), 1) = 1;
  for my $n (keys %socket) {
    vec($read, $n, 1) = 1 if !$ended{$n} && length($kept{$peer{$n}}) < 65536;
    vec($write, $n, 1) = 1 if length($kept{$n});
  }
  next if select($read, $write, undef, undef) < 0;
  if (vec($read, fileno($listener), 1) && accept(my $client, $listener)) {
    my $proxy;
    if (socket($proxy, PF_UNIX, SOCK_STREAM, 0) && connect($proxy, sockaddr_un($ARGV[0]))) {
      my ($a, $b) = (fileno($client), fileno($proxy));
      unblock($_) for ($client, $proxy);
      @socket{$a, $b} = ($client, $proxy); @peer{$a, $b} = ($b, $a); @kept{$a, $b} = ('', '');
    }
  }
  for my $n (keys %socket) {
    next unless $socket{$n} && vec($read, $n, 1);
    my $count = sysread($socket{$n}, my $bytes, 65536);
    if (!defined $count) { drop($n) unless $! == EAGAIN || $! == EINTR; }
    elsif ($count == 0) { $ended{$n} = 1; }
    else { $kept{$peer{$n}} .= $bytes; vec($write, $peer{$n}, 1) = 1; }
  }
  for my $n (keys %socket) {
    next unless $socket{$n};
    if (length($kept{$n}) && vec($write, $n, 1)) {
      my $count = syswrite($socket{$n}, $kept{$n});
      if (defined $count) { substr($kept{$n}, 0, $count) = ''; }
      elsif ($! != EAGAIN && $! != EINTR) { drop($n); next; }
    }
    if ($ended{$peer{$n}} && !length($kept{$n}) && !$shut{$n}) { shutdown($socket{$n}, 1); $shut{$n} = 1; }
    drop($n) if $shut{$n} && $shut{$peer{$n}};
  }
}
`;

/** The same for Python 3. */
export const pythonRelay = `
import os, select, socket, sys
def dial():
    proxy = socket.socket(socket.AF_UNIX)
    proxy.connect(sys.argv[1])
    return proxy
try:
    dial().close()
except OSError:
    sys.exit(${NO_PROXY_SOCKET})
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', 3128))
listener.listen(64)
listener.setblocking(False)
os.write(1, b'ready\\n')
os.dup2(os.open('/dev/null', os.O_WRONLY), 1)
peer, kept, ended, shut = {}, {}, set(), set()
def drop(one):
    for end in (one, peer[one]):
        del peer[end], kept[end]
        ended.discard(end)
        shut.discard(end)
        end.close()
def accept():
    client, _ = listener.accept()
    proxy = dial()
    for one, other in ((client, proxy), (proxy, client)):
        one.setblocking(False)
        peer[one], kept[one] = other, b''
def pass_on(one):
    if kept[one]:
        try:
            kept[one] = kept[one][one.send(kept[one]):]
        except (BlockingIOError, InterruptedError):
            pass
    if peer[one] in ended and not kept[one] and one not in shut:
        one.shutdown(socket.SHUT_WR)
        shut.add(one)
    if one in shut and peer[one] in shut:
        drop(one)
while True:
    reading = [one for one in peer if one not in ended and len(kept[peer[one]]) < 65536]
    readable, _, _ = select.select([listener, *reading], [one for one in peer if kept[one]], [])
    for one in readable:
        try:
            if one is listener:
                accept()
            elif one in peer:
                data = one.recv(65536)
                kept[peer[one]] += data
                if not data:
                    ended.add(one)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            if one in peer:
                drop(one)
    for one in list(peer):
        try:
            if one in peer:
                pass_on(one)
        except OSError:
            drop(one)
`;

/** The same for Node. */
export const nodeRelay = `
const { connect, createServer } = require('node:net');
const server = createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: process.argv[1], allowHalfOpen: true });
  for (const [from, to] of [[client, proxy], [proxy, client]]) {
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
    from.pipe(to);
  }
});
const probe = connect(process.argv[1]);
probe.on('error', () => process.exit(${NO_PROXY_SOCKET})).on('connect', () => {
  probe.destroy();
  server.listen(3128, '127.0.0.1', () => process.stdout.write('ready\\n'));
});
`;

const PERL = '/usr/bin/perl';

/** The program that runs in a sandbox with a network. */
export interface NetworkRelay {
  /** Program and arguments. The path of the proxy's socket follows. */
  command: readonly string[];
  /** A file of the host that the program needs, and its path in the sandbox. */
  mount?: readonly [from: string, to: string];
}

/** Chooses Perl, which needs 5 MB, if the host has it: Debian always does. Otherwise Node, with 15 MB. choice 544 */
export function chooseNetworkRelay(hasPerl: boolean = isExecutable(PERL)): NetworkRelay {
  if (hasPerl) return { command: [PERL, '-e', perlRelay] };
  return { command: [GATEWAY_NODE, '-e', nodeRelay], mount: [process.execPath, GATEWAY_NODE] };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
