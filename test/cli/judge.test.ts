import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { delta, startGateway, stream, usageChunk } from '../gateway.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';

const line = (fields: object) =>
  JSON.stringify({ id: 'a', rubric: 'Polite?', material: 'Hello.', label: true, ...fields });
const USAGE = { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000, cost: 0.01 };

/** A gateway that says of each material whether it holds "please", and has no answer to "SILENCE". */
async function createJudge(cases: readonly string[]) {
  const gateway = await startGateway((response, request) => {
    const text = JSON.stringify(request.body);
    if (text.includes('SILENCE')) return;
    const content = text.includes('refused')
      ? 'No.'
      : JSON.stringify({ score: text.includes('please'), reason: 'seen' });
    return stream(delta({ role: 'assistant', content }), delta({}, 'stop'), usageChunk(USAGE))(response);
  });
  const cwd = createProject();
  writeFileSync(join(cwd, 'cases.jsonl'), cases.join('\n'));
  return { gateway, cwd, env: { PROCTOR_GATEWAY_URL: gateway.url } };
}

const CALIBRATE = ['judge', 'calibrate', 'cases.jsonl', '--model', 'critic'];

describe('proctor judge calibrate', PATIENCE, () => {
  it('prints the figures of 1, 3 and 5 votes, and each case where judge and label part', async () => {
    const cases = [
      line({ material: 'Yes, please.' }),
      line({ id: 'b', label: false }),
      line({ id: 'c', material: 'Thank you.' }),
    ];
    const { gateway, ...how } = await createJudge(cases);
    const { code, stdout } = await proctor([...CALIBRATE, '--json'], how);
    expect(code).toBe(0);
    const { cases: count, by_votes, ...more } = JSON.parse(stdout) as { cases: number; by_votes: object[] };
    expect([count, more]).toEqual([3, {}]);
    expect(by_votes).toHaveLength(3);
    expect(by_votes[0]).toEqual({
      votes: 1,
      agreement: expect.closeTo(2 / 3, 12),
      kappa: expect.closeTo(0.4, 12),
      kappa_ci95: [expect.any(Number), expect.any(Number)],
      confusion: { both_yes: 1, both_no: 1, label_yes_only: 1, judge_yes_only: 0 },
      cost_usd: expect.closeTo(0.03, 12),
      disagreements: [{ id: 'c', label: true, score: 0, reasons: ['seen'] }],
    });
    expect(gateway.requests).toHaveLength(15);
    const shown = await proctor([...CALIBRATE, '--votes', '1'], how);
    expect(shown.stdout).toMatch(/on 3 cases\n1 vote +agreement 67 % {2}kappa 0\.40 .*\$0\.030/);
    expect(shown.stdout).toContain('c: label true, judge 0.00: seen');
    expect(gateway.requests).toHaveLength(18);
  });

  it('names a case that cannot be judged, has the figures of the others, and ends with 1', async () => {
    const how = await createJudge([line({ material: 'Yes, please.' }), line({ id: 'b', material: 'refused' })]);
    const { code, stdout } = await proctor([...CALIBRATE, '--votes', '1', '--json'], how);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      cases: 1,
      failed: [{ id: 'b', message: expect.stringContaining('twice') }],
    });
  });

  it.each([
    ['lines that are none', [...CALIBRATE], 'cases.jsonl:1: it is not JSON'],
    [
      'a file that is not there',
      ['judge', 'calibrate', 'other.jsonl', '--model', 'critic'],
      'other.jsonl cannot be read',
    ],
    ['no model', ['judge', 'calibrate', 'good.jsonl'], 'set models.judge'],
    [
      'a judge that reads nothing',
      ['judge', 'calibrate', 'good.jsonl', '--model', 'proctor/judge-script'],
      'reads nothing',
    ],
    ['four votes', [...CALIBRATE, '--votes', '4'], 'Allowed choices are 1, 3, 5'],
  ])('ends with 2 for %s', async (_what, args, told) => {
    const { cwd } = await createJudge(['nope']);
    writeFileSync(join(cwd, 'good.jsonl'), line({}));
    const { code, stderr } = await proctor(args, { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining(told)]);
  });

  it('ends at once on Ctrl-C, with its questions', async () => {
    const { gateway, ...how } = await createJudge([line({ material: 'SILENCE' })]);
    const running = start(CALIBRATE, how);
    await gateway.asked;
    running.process.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('Stopped by SIGINT') });
    await gateway.clientClosed;
  });
});
