/*
 * The built-in agent of interns. It runs in a sandbox with the Node of the host or the image, and imports only modules of
 * Node and of this folder.
 */
import { createAgentServer } from './server.ts';
import { readAgentSettings } from './settings.ts';

// Node's own handler would open a debugger, through which commands could control the agent.
process.on('SIGUSR1', () => {});
const settings = readAgentSettings(process.env);
const server = createAgentServer(settings);
server.keepAliveTimeout = 60_000;
server.requestTimeout = 0;
server.listen(settings.port, '127.0.0.1', () => process.stdout.write('the agent is ready\n'));
process.on('SIGTERM', () => process.exit(0));
