import { createHash } from 'node:crypto';

/*
 * The page at `GET /`: one static document without external resources. It contains nothing of the configuration, so it
 * needs no key. The script only inserts the address into the examples and requests `/ready`.
 */

const style = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1c2024, #e8eaed);
  --soft: light-dark(#5b6470, #a3abb5);
  --ground: light-dark(#fbfcfd, #131518);
  --panel: light-dark(#f0f2f5, #1e2227);
  --line: light-dark(#d9dde3, #343a42);
  --link: light-dark(#0b57b8, #7db4ff);
  --good: light-dark(#137333, #6dd58c);
  --bad: light-dark(#b3261e, #ff9a91);
}
* { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--text);
  font: 16px/1.6 system-ui, sans-serif;
}
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; }
h1 { margin: 0; font-size: 2rem; letter-spacing: -0.02em; }
h2 { margin: 2.5rem 0 0.5rem; font-size: 1.15rem; }
p { margin: 0.5rem 0; }
.soft { color: var(--soft); }
.good { color: var(--good); }
.bad { color: var(--bad); }
a { color: var(--link); }
a:focus-visible, pre:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code, pre { font: 0.875rem/1.55 ui-monospace, monospace; }
code { background: var(--panel); padding: 0.1em 0.35em; border-radius: 4px; overflow-wrap: anywhere; }
pre {
  margin: 0.5rem 0;
  padding: 0.85rem 1rem;
  background: var(--panel);
  border: 1px solid var(--line);
  border-radius: 8px;
  overflow-x: auto;
}
pre code { padding: 0; background: none; overflow-wrap: normal; }
ol { padding-left: 1.4rem; }
li { margin: 1rem 0; }
ul { padding-left: 1.2rem; }
ul li { margin: 0.35rem 0; }
`;

const script = `
for (const place of document.querySelectorAll('[data-origin]')) place.textContent = location.origin;
const state = document.getElementById('state');
fetch('/ready')
  .then(async (answer) => {
    const body = await answer.json();
    const text = answer.ok ? body.store ? 'Ready; the store is ' + body.store : 'Ready' : 'Not ready: ' + body.error.message;
    state.textContent = text;
    state.className = answer.ok && !body.store ? 'good' : 'bad';
  })
  .catch(() => {
    state.textContent = 'The gateway does not respond.';
    state.className = 'bad';
  });
`;

const icon =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E%3Crect width=%2216%22 height=%2216%22 rx=%224%22 fill=%22%230b57b8%22/%3E%3Cpath d=%22M4 4v8M12 4v8M4 8h8%22 stroke=%22white%22 stroke-width=%222%22/%3E%3C/svg%3E';

/** The base URL that the page shows without scripts. */
const address = '<span data-origin>http://127.0.0.1:8787</span>';

export const homePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Headgate</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
</head>
<body>
<main>
<header>
<h1>Headgate</h1>
<p id="state" class="soft" role="status"><a href="/ready">Is it ready?</a></p>
</header>
<p>This is a model gateway. Applications send their requests here, in the format of OpenAI Responses, chat completions, Anthropic Messages or Gemini, and it passes them on to the model providers of its configuration.</p>

<p id="console"><a href="console">Open the console</a> to see requests, spending and keys. <code>headgate console</code> prints a link that signs you in.</p>

<h2>Address</h2>
<p>Base URL for clients: <code>${address}/api/v1</code></p>

<h2>First steps</h2>
<ol>
<li>Take an API key. The first start of the gateway printed one in its terminal. This command makes another:
<pre tabindex="0"><code>headgate keys create</code></pre>
<p class="soft">In a clone of the source, write <code>npm run -s headgate -- keys create</code>.</p></li>
<li>Send a request. The simulator answers without any provider:
<pre tabindex="0"><code>curl ${address}/api/v1/responses \\
  -H "Authorization: Bearer $HEADGATE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "simulator/echo", "input": "Hello"}'</code></pre></li>
<li>Add a provider: set its key in the environment, such as <code>OPENAI_API_KEY</code>, and start the gateway again, or write a configuration file:
<pre tabindex="0"><code>headgate init</code></pre></li>
<li>See what was sent and what it cost:
<pre tabindex="0"><code>headgate requests</code></pre></li>
</ol>

<h2>Links</h2>
<ul>
<li><a href="/health">/health</a>: the process is running</li>
<li><a href="/ready">/ready</a>: it accepts requests</li>
<li><a href="/metrics">/metrics</a>: numbers for Prometheus; a key may be required</li>
<li><code>/api/v1/models</code>: the models; requires an API key</li>
<li><a href="/api/v1/openapi.json">/api/v1/openapi.json</a>: all routes in OpenAPI</li>
</ul>
</main>
<script>${script}</script>
</body>
</html>
`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Allows this style, this script and requests to the gateway itself. */
export const homePagePolicy = [
  "default-src 'none'",
  `style-src ${hashOf(style)}`,
  `script-src ${hashOf(script)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
