// Runs the conformance suite of MCP against an environment of ours, over HTTP: the requirements of both eras. Fails when
// either does. Further arguments go to the suite, as in `npm run conformance -- --scenario ping`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const REVISIONS = ['2025-11-25', '2026-07-28'];
const START_TIMEOUT_MS = 60_000;

for (const script of ['build', 'referees']) run(process.execPath, [`${root}scripts/${script}.mjs`]);

const server = spawn(process.execPath, ['--import', 'tsx', `${root}test/conformance/environment.ts`], {
  cwd: root,
  env: { ...process.env, PROCTOR_TRANSPORT: 'http', PROCTOR_PORT: '0' },
  stdio: ['ignore', 'inherit', 'pipe'],
});
try {
  const url = await addressOf(server);
  const given = process.argv.slice(2);
  const rounds = given.length > 0 ? [given] : REVISIONS.map((revision) => ['--requirements', revision]);
  for (const options of rounds) {
    console.log(`\n=== ${options.join(' ')} ===`);
    if ((await judge(url, options)) !== 0) process.exitCode = 1;
  }
} finally {
  server.kill('SIGTERM');
}

/** The suite's exit code. It needs a newer Node.js than this project does: one comes with it. */
async function judge(url, options) {
  const referees = `${root}test/referees/node_modules/`;
  const suite = `${referees}@modelcontextprotocol/conformance/dist/index.js`;
  const command = [suite, 'server', '--url', url, ...options];
  const [code] = await once(spawn(`${referees}.bin/node`, command, { stdio: 'inherit' }), 'exit');
  return code ?? 1;
}

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

async function addressOf(child) {
  let text = '';
  child.stderr.setEncoding('utf8');
  const found = new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      text += chunk;
      process.stderr.write(chunk);
      const [, url] = /Serving MCP at (\S+)/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
    once(child, 'exit').then(() => reject(new Error(`The environment ended before it served: ${text}`)), reject);
    setTimeout(() => reject(new Error('The environment did not start in time')), START_TIMEOUT_MS).unref();
  });
  return found;
}
