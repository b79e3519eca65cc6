import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, test } from 'vitest';
import { PATIENCE } from '../cli/command.ts';
import { serveOpenEnv } from '../service/bridges/openenv-server.ts';
import { serveOrs } from '../service/bridges/ors-server.ts';
import { blocksOf, createFolder } from './documents.ts';

const PAGE = 'docs/interop.md';
/** Where the page says that the servers listen. */
const OPENENV = '127.0.0.1:8000';
const ORS = 'http://127.0.0.1:8080';

const hasClient = spawnSync('python3', ['-c', 'import openenv.core.mcp_client']).status === 0;
if (!hasClient) console.warn(`The Python of ${PAGE} is not run: there is no python3 with the package openenv-core.`);

it("the page's commands of curl play an episode of ORS, to its reward", PATIENCE, async () => {
  const { server, traces } = await serveOrs();
  const block = blocksOf(PAGE, '').find((commands) => commands.includes('X-Session-ID')) ?? '';
  const { stdout } = await promisify(execFile)('bash', ['-ec', block.replaceAll(ORS, server.url)]);
  expect(stdout).toContain('["count_to","slow_count"]');
  expect(stdout).toContain('Make the counter show exactly 2');
  expect(stdout).toContain('"reward":1,"finished":true');
  expect(await traces()).toMatchObject([{ origin: 'ors', status: 'completed', reward: 1 }]);
});

it("the page's JavaScript plays an episode of OpenEnv, to its reward", PATIENCE, async () => {
  const { server, traces } = await serveOpenEnv();
  const [block = ''] = blocksOf(PAGE, 'js');
  const file = join(createFolder(), 'episode.mjs');
  writeFileSync(file, block.replaceAll(OPENENV, new URL(server.url).host));
  // Node.js 20 has sockets behind a flag, which later ones take too.
  const { stdout } = await promisify(execFile)(process.execPath, ['--experimental-websocket', file]);
  expect(stdout).toMatch(/reward: 1,\s+done: true/);
  expect(await traces()).toMatchObject([{ origin: 'openenv', status: 'completed', reward: 1 }]);
});

test.runIf(hasClient)("the page's Python plays an episode with the client of OpenEnv itself", PATIENCE, async () => {
  const { server, traces } = await serveOpenEnv();
  const block = blocksOf(PAGE, 'python').find((python) => python.includes('openenv')) ?? '';
  const file = join(createFolder(), 'episode.py');
  writeFileSync(file, block.replaceAll(`http://${OPENENV}`, server.url));
  const { stdout } = await promisify(execFile)('python3', [file]);
  expect(stdout).toMatch(/^\[.*'increment'.*'submit_answer'\]\n1(\.0)? True\n$/);
  expect(await traces()).toMatchObject([
    { origin: 'openenv', status: 'completed', stop_reason: 'answered', reward: 1 },
  ]);
});
