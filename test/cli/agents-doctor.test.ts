import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, PATIENCE, proctor } from './command.ts';

/** A program that fails deep in its code, with a stack of more lines than one looks at. */
const CRASHES = `
function deep(times) {
  if (times > 0) return deep(times - 1);
  throw new Error('Missing optional dependency made-up-linux');
}
deep(12);
`;

describe('proctor agents doctor', PATIENCE, () => {
  it('says the reason of an agent that crashes, and all that it wrote with --verbose', async () => {
    const cwd = createProject();
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    writeFileSync(join(cwd, 'agent.mjs'), CRASHES);
    const agents = { crashes: { command: ['node', 'agent.mjs'], needs: 'none' } };
    writeFileSync(join(cwd, 'proctor.config.mjs'), `export default ${JSON.stringify({ agents })}`);
    const short = await proctor(['agents', 'doctor', 'crashes'], { cwd });
    expect(short.code).toBe(1);
    expect(short.stdout).toContain('Error: Missing optional dependency made-up-linux');
    expect(short.stdout).not.toContain('at deep');
    expect(short.stdout).toMatch(/It wrote \d+ lines: --verbose prints them/);
    const whole = await proctor(['agents', 'doctor', 'crashes', '--verbose'], { cwd });
    expect(whole.stdout).toContain('Error: Missing optional dependency made-up-linux');
    expect(whole.stdout).toContain('at deep');
    const json = await proctor(['agents', 'doctor', 'crashes', '--json'], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({
      healthy: false,
      agents: [{ name: 'crashes', reason: 'Error: Missing optional dependency made-up-linux' }],
    });
  });
});
