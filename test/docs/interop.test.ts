import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { serveOpenEnv } from '../bridges/openenv-server.ts';
import { PATIENCE } from '../cli/command.ts';
import { blocksOf, createFolder } from './documents.ts';

const PAGE = 'docs/interop.md';
/** Where the page says that the server listens. */
const ADDRESS = 'http://127.0.0.1:8000';

const hasClient = spawnSync('python3', ['-c', 'import openenv.core.mcp_client']).status === 0;
if (!hasClient) console.warn(`The Python of ${PAGE} is not run: there is no python3 with the package openenv-core.`);

test.runIf(hasClient)("the page's Python plays an episode with the client of OpenEnv itself", PATIENCE, async () => {
  const { server, traces } = await serveOpenEnv();
  const block = blocksOf(PAGE, 'python').find((code) => code.includes('openenv')) ?? '';
  const file = join(createFolder(), 'episode.py');
  writeFileSync(file, block.replaceAll(ADDRESS, server.url));
  const { stdout } = await promisify(execFile)('python3', [file]);
  expect(stdout).toMatch(/^\[.*'increment'.*'submit_answer'\]\n1(\.0)? True\n$/);
  expect(await traces()).toMatchObject([
    { origin: 'openenv', status: 'completed', stop_reason: 'answered', reward: 1 },
  ]);
});
