import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { playOnce } from '../../docs/examples/serve-runs.ts';
import { runAndWatch } from '../../docs/examples/service-client.ts';
import { PATIENCE, proctor } from '../cli/command.ts';
import { freePort } from '../free-port.ts';
import { startService } from '../service/runs/service.ts';
import { createFolder, ROOT } from './documents.ts';

it('the configuration of docs/runs.md names an environment that lies elsewhere', PATIENCE, async () => {
  const cwd = createFolder();
  cpSync(join(ROOT, 'docs/examples/proctor.config.ts'), join(cwd, 'proctor.config.ts'));
  mkdirSync(join(cwd, 'elsewhere/shop'), { recursive: true });
  cpSync(join(ROOT, 'docs/examples/shared-halves.ts'), join(cwd, 'elsewhere/shop/environment.ts'));
  const solved = await proctor(['run', 'shop', 'count_down', '--arg', 'start=3'], { cwd });
  expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
});

it('the program of docs/runs.md runs a scenario, watches it and gets its reward', async () => {
  const service = await startService();
  const print = vi.spyOn(console, 'log').mockImplementation(() => {});
  expect(await runAndWatch(service.url, service.key, 3)).toBe(1);
  expect(print.mock.calls).toEqual([['increment', { by: 3 }]]);
  expect(await runAndWatch(service.url, service.key, -1)).toBeNull();
  print.mockRestore();
});

it('the program of docs/runs.md that holds the service itself plays a run there', PATIENCE, async () => {
  const directory = createFolder();
  cpSync(join(ROOT, 'environments/counter'), join(directory, 'environments/counter'), { recursive: true });
  expect(await playOnce(directory, await freePort())).toBe(1);
});
