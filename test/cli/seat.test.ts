import { describe, expect, it } from 'vitest';
import { seatSchema } from '../../src/contract/service/seat.ts';
import { calls, says, startGateway, startModels } from '../gateway.ts';
import { createAgent } from '../rollout/seats/agent.ts';
import { sitDown } from '../rollout/seats/seat.ts';
import { startService } from '../service/runs/service.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';

const SEAT = ['seat', 'counter', 'count_to', '--arg', 'target=3'];

describe('proctor seat', PATIENCE, () => {
  it('--json prints the seat, waits for its agent, and prints its end', async () => {
    const cwd = createProject('counter');
    const running = start([...SEAT, '--json'], { cwd });
    const [line] = await running.prints(/^\{.*\}$/m);
    const seat = seatSchema.parse(JSON.parse(line));
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    const { code, stdout } = await running.ended;
    const [first, second, ...rest] = stdout.trim().split('\n');
    expect([code, rest]).toEqual([0, []]);
    expect(JSON.parse(String(first))).toEqual(seat);
    expect(JSON.parse(String(second))).toEqual({ trace_id: seat.trace_id, reward: 1 });
  });

  it('prints the task, the address and every configuration for people, then what the agent does', async () => {
    const cwd = createProject('counter');
    const running = start(SEAT, { cwd });
    const [, secret] = await running.prints(/Authorization: Bearer (seat_[0-9a-f]{32})/);
    const [, url] = await running.prints(/MCP +(http:\/\/127\.0\.0\.1:\d+\/mcp)\n/);
    await running.prints(/The seat waits for its agent/);
    const agent = await sitDown({ mcp: { url: String(url), headers: { Authorization: `Bearer ${secret}` } } });
    await agent.callTool({ name: 'increment', arguments: { by: 2 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toContain('Make the counter show exactly 3');
    for (const name of ['Claude Code', 'Codex', 'Gemini CLI', 'opencode', 'VS Code'])
      expect(stdout).toContain(`# ${name}`);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('reward 0');
    expect(stderr).toContain('call increment {"by":2}');
    expect(stderr).toContain('→ 2');
  });

  it('cancels the run at Ctrl-C, and ends with 1', async () => {
    const cwd = createProject('counter');
    const running = start([...SEAT, '--json'], { cwd });
    await running.prints(/^\{.*\}$/m);
    running.process.kill('SIGINT');
    const { code, stdout } = await running.ended;
    expect(code).toBe(1);
    expect(JSON.parse(String(stdout.trim().split('\n')[1]))).toMatchObject({ reward: null });
  });

  it('--model prints addresses that lead to the gateway of the directory, and the run is graded', async () => {
    const gateway = await startGateway(calls(['mcp__env__increment', { by: 3 }]), says('It shows 3.'));
    const cwd = createProject('counter');
    const running = start([...SEAT, '--model', 'gpt-test', '--timeout', '20', '--json'], {
      cwd,
      env: { PROCTOR_GATEWAY_URL: gateway.url, PROCTOR_GATEWAY_API_KEY: 'key-of-gateway' },
    });
    const [line] = await running.prints(/^\{.*\}$/m);
    const seat = seatSchema.parse(JSON.parse(line));
    expect(seat.env).toMatchObject({
      OPENAI_BASE_URL: seat.model?.openai_base_url,
      OPENAI_API_KEY: seat.model?.api_key,
    });
    const agent = await createAgent(seat);
    expect((await agent.say('Count to 3.')).json).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
    await agent.mcp.callTool({ name: 'increment', arguments: { by: 3 } });
    expect(
      (
        await agent.say([
          { role: 'user', content: 'Count to 3.' },
          { role: 'user', content: 'Go on.' },
        ])
      ).status,
    ).toBe(200);
    expect(gateway.requests).toMatchObject([
      { headers: { authorization: 'Bearer key-of-gateway' }, body: { model: 'gpt-test' } },
      { body: { model: 'gpt-test' } },
    ]);
    await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: 'It shows 3.' } });
    const { code, stdout, stderr } = await running.ended;
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('key-of-gateway')]);
    expect(JSON.parse(String(stdout.trim().split('\n')[1]))).toEqual({ trace_id: seat.trace_id, reward: 1 });
  });

  it.each(['here', 'at a run service'])('submits the last text of its model at Enter (%s)', async (place) => {
    const { models } = await startModels([calls(['mcp__env__increment', { by: 3 }]), says('It shows 3.')]);
    const service = await startService({ models });
    const gateway = await startGateway(calls(['mcp__env__increment', { by: 3 }]), says('It shows 3.'));
    const cwd = createProject('counter');
    const isHere = place === 'here';
    const running = start([...SEAT, '--model', 'gpt-test', ...(isHere ? [] : ['--service', service.url])], {
      cwd,
      env: isHere ? { PROCTOR_GATEWAY_URL: gateway.url } : { PROCTOR_API_KEY: service.key },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const [, secret] = await running.prints(/Authorization: Bearer (seat_[0-9a-f]{32})/);
    const [, url] = await running.prints(/MCP +(http:\/\/127\.0\.0\.1:\d+\/mcp)\n/);
    await running.prints(/ends when that calls submit_answer\. When you press Enter, or after ten minutes/);
    running.process.stdin?.write('\n');
    await running.prints(/has said nothing yet that could be submitted/);
    const mcp = { url: String(url), headers: { Authorization: `Bearer ${secret}` } };
    const agent = await createAgent({ mcp });
    await agent.say('Count to 3.');
    await agent.mcp.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.say('Go on.');
    running.process.stdin?.write('\n');
    const { code, stdout } = await running.ended;
    expect([code, stdout.trimEnd().split('\n').at(-1)]).toEqual([0, 'reward 1']);
  });

  it('opens one at a run service', async () => {
    const service = await startService();
    const cwd = createProject();
    const env = { PROCTOR_API_KEY: service.key };
    const running = start([...SEAT, '--json', '--service', service.url], { cwd, env });
    const [line] = await running.prints(/^\{.*\}$/m);
    const seat = seatSchema.parse(JSON.parse(line));
    expect(seat.mcp.url).toBe(`${service.url}/mcp`);
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(JSON.parse(String(stdout.trim().split('\n')[1]))).toEqual({ trace_id: seat.trace_id, reward: 1 });
  });

  it('ends with 2 where the command is wrong', async () => {
    const cwd = createProject('counter');
    const wrong = [
      ['seat', 'counter'],
      ['seat', 'nothing', 'count_to'],
      ['seat', 'counter', 'count_to', '--arg', 'target=x'],
    ];
    const codes = await Promise.all(wrong.map(async (args) => (await proctor(args, { cwd })).code));
    expect(codes).toEqual([2, 2, 2]);
  });
});
