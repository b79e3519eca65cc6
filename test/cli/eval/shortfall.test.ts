import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startBusyGateway } from '../../busy-gateway.ts';
import { counting, detailOf, evaluate, MANY_COMMANDS, projectWith } from './project.ts';

const CALL = { prompt_tokens: 950, completion_tokens: 50, total_tokens: 1_000 };

describe('an evaluation that ends over its budget', MANY_COMMANDS, () => {
  it('says so in its status, in the list and by exit code 4; --min-coverage says how much is enough', async () => {
    const gateway = await startBusyGateway({ usage: CALL });
    const { file, ...project } = projectWith(counting(1, 2, 3, 4, 5, 6, 7, 8), 'counter');
    const gateways = { '*': { url: gateway.url, maxOutputTokens: 50 } };
    writeFileSync(join(project.cwd, 'proctor.config.mts'), `export default ${JSON.stringify({ gateways })};`);
    const args = [file, '--model', 'm', '--budget', '3500tok', '--concurrency', '1', '-q'];
    const { code, stdout, stderr } = await evaluate(args, project);
    expect([code, stdout]).toEqual([
      4,
      expect.stringMatching(/: completed, over budget, [1-4] of 8 have a reward; 8 of 8 /),
    ]);
    expect(stderr).toMatch(/m: [1-4] of 8 attempts have a reward, a coverage of \d+ %, which is less than 90 %\./);
    const list = await evaluate(['list'], project);
    expect(list.stdout).toMatch(/ completed, over budget, [1-4] of 8 have a reward +8\/8 /);
    const show = await evaluate(['show', 'last'], project);
    expect([show.code, show.stdout]).toEqual([0, expect.stringContaining('completed, over budget, ')]);
    const lenient = await evaluate([...args, '--min-coverage', '0.1'], project);
    expect([lenient.code, lenient.stdout]).toEqual([0, expect.stringMatching(/: completed, over budget; 8 of 8 /)]);
    const json = await evaluate([...args, '--json'], project);
    expect([json.code, detailOf(json).status]).toEqual([4, 'completed']);
    const wrong = await evaluate([...args, '--min-coverage', '90'], project);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('from 0 to 1')]);
  });
});
