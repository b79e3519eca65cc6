import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { createProject, PATIENCE, start } from './command.ts';

const HANGING = fileURLToPath(new URL('fixtures/hanging/environment.ts', import.meta.url));

it('SIGTERM ends a run that is still being prepared, and no run is made', PATIENCE, async () => {
  const cwd = createProject();
  const begun = join(cwd, 'begun');
  const environments = { hanging: { path: HANGING, env: { HANGING_BEGUN: begun } } };
  writeFileSync(join(cwd, 'proctor.config.mts'), `export default ${JSON.stringify({ environments })};`);
  const running = start(['run', 'hanging', 'any', '--model', 'proctor/noop'], { cwd });
  await until(() => existsSync(begun));
  running.process.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ signal: 'SIGTERM', stdout: '' });
});
