/** Loaded by a gateway process before its own modules: its connections to the port 80 of this machine end at another port. */
import net from 'node:net';
import { syncBuiltinESMExports } from 'node:module';

const port = Number(process.env['HEADGATE_TEST_SERVICE_PORT']);
const { connect } = net;
net.connect = ((options: { port?: number }, ...rest: unknown[]) =>
  Reflect.apply(connect, net, [options?.port === 80 ? { ...options, port } : options, ...rest])) as typeof connect;
syncBuiltinESMExports();
