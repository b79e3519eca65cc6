import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createProject, proctor } from './command.ts';

/** Whether its task can be solved is not known, nor how strong its grader is. */
const NO_SOLUTION = fileURLToPath(new URL('../evaluation/checks/unsound/no-solution.ts', import.meta.url));

it('a check names what was not tried and why, and fails for it with --strict alone', { timeout: 180_000 }, async () => {
  const cwd = createProject();
  // A key to look for: without one that is not tried.
  const env = { PROCTOR_API_KEY: 'pk_planted_key_of_the_service' };
  const args = ['check', NO_SOLUTION, '--tasks', '1', '--junit'];
  const lenient = await proctor([...args, 'lenient.xml'], { cwd, env });
  expect([lenient.code, lenient.stdout]).toEqual([0, expect.stringContaining('solvable leak grader_strength  ')]);
  expect(lenient.stdout).toMatch(/\? solvable leak grader_strength {2}fill: Not tried with \w+: it has no solution\./);
  const sound = lenient.stdout.split('\n').find((line) => line.includes('✓')) ?? '';
  expect(sound.split(': ')[1]?.split(' ')).toEqual(
    expect.arrayContaining(['start', 'idle', 'echo', 'forger', 'isolated', 'clean', 'secrets', 'bounded']),
  );
  expect(sound).not.toMatch(/solvable|leak|grader_strength/);
  const strict = await proctor([...args, 'strict.xml', '--json', '--strict'], { cwd, env });
  expect([strict.code, strict.stderr]).toEqual([
    1,
    expect.stringMatching(/--strict: not everything was tried \(.*: solvable, leak, grader_strength\)/),
  ]);
  const { environments } = JSON.parse(strict.stdout);
  expect(environments[0].tried).toContainEqual({ finding: 'leak', state: 'not_tried' });
  const junit = (file: string) => /<testsuite [^>]*>/.exec(readFileSync(join(cwd, file), 'utf8'))?.[0];
  expect(junit('lenient.xml')).toContain('failures="0" errors="0" skipped="3"');
  expect(junit('strict.xml')).toContain('failures="3" errors="0" skipped="0"');
});
