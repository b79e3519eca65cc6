import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Script } from '../../processes.ts';
import { until } from '../../until.ts';
import { isRunning } from '../client/processes.ts';

const PATIENCE = { timeout: 60_000 };

it('after a kill -9 the groups that are left get SIGTERM, and SIGKILL when the budget is over', PATIENCE, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-watchdog-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const heard = join(folder, 'heard');
  const script = new Script(new URL('./fixtures/spinning.ts', import.meta.url), [heard]);
  await script.said(2);
  const [deaf = 0, polite = 0] = script.lines.map(Number);
  expect([isRunning(deaf), isRunning(polite)]).toEqual([true, true]);
  await script.kill();
  await until(() => existsSync(heard) && !isRunning(polite));
  expect(isRunning(deaf)).toBe(true);
  await until(() => !isRunning(deaf));
});
