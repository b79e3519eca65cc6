import { describe, expect, it } from 'vitest';
import { startService } from '../../service/runs/service.ts';
import { createRoom } from './environment.ts';
import { nested, openSeat, sitDown } from './seat.ts';

const PLAIN = { env_name: 'room', scenario_name: 'plain', scenario_args: {} };

async function startRoom() {
  return await startService({ environments: new Map([['room', createRoom()]]) });
}

describe.each(['legacy', 'modern'] as const)('what an agent reaches at a seat, with a %s client', (mode) => {
  it('are the tools of its scenario alone: another one of the environment is unknown', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const agent = await sitDown(seat, mode);
    const names = (await agent.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(['note', 'wait', 'list', 'tell', 'die', 'submit_answer']);
    await expect(agent.callTool({ name: 'hidden', arguments: {} })).rejects.toThrow('Unknown tool: hidden');
    await expect(agent.callTool({ name: 'evaluate', arguments: {} })).rejects.toThrow('Unknown tool: evaluate');
    expect((await service.store.trace(seat.trace_id))?.usage.tool_calls).toBe(0);
  });

  it('says in a result what failed, as in any run, and records it', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const agent = await sitDown(seat, mode);
    const failed = await agent.callTool({ name: 'die', arguments: {} });
    expect(failed).toMatchObject({ isError: true, content: [{ text: 'The tool die failed' }] });
    const wrong = await agent.callTool({ name: 'note', arguments: { size: 3 } });
    expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('size') }] });
    const trace = await service.store.trace(seat.trace_id);
    expect(trace?.tool_calls).toMatchObject([
      { name: 'die', is_error: true, content: failed.content },
      { name: 'note', arguments: { size: 3 }, is_error: true, content: wrong.content },
    ]);
    expect(trace?.logs.map(({ message }) => message).join()).toContain('cause for the log');
    expect(JSON.stringify([failed, wrong])).not.toContain('cause for the log');
  });

  it('gives as much of a result as there is room for, also where that has a schema', async () => {
    const service = await startRoom();
    const agent = await sitDown(await openSeat(service, PLAIN), mode);
    await agent.listTools();
    const told = await agent.callTool({ name: 'tell', arguments: {} });
    expect(told.isError).not.toBe(true);
    expect(JSON.stringify(told.content)).toContain('and then');
  });

  it('takes no arguments that are nested too deep, and keeps them as the text that came', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const agent = await sitDown(seat, mode);
    const deep = { list: nested(150) };
    const refused = await agent.callTool({ name: 'note', arguments: deep });
    expect(refused).toMatchObject({ isError: true });
    expect(JSON.stringify(refused)).toContain('are nested more than 128 deep');
    expect((await agent.callTool({ name: 'note', arguments: {} })).content).toEqual([{ type: 'text', text: '1' }]);
    expect((await service.store.trace(seat.trace_id))?.tool_calls).toMatchObject([
      { arguments: {}, raw_arguments: JSON.stringify(deep), is_error: true },
      { arguments: {}, raw_arguments: null, is_error: false },
    ]);
  });

  it('are the resources that any agent may read', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const agent = await sitDown(seat, mode);
    const { resources } = await agent.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['room://rules', 'svc://scenarios']);
    expect((await agent.readResource({ uri: 'room://rules' })).contents).toEqual([
      { uri: 'room://rules', mimeType: 'text/markdown', text: '# Rules' },
    ]);
    expect((await agent.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'room://pages/{id}' },
    ]);
    expect((await agent.readResource({ uri: 'room://pages/a%20b' })).contents).toMatchObject([{ text: 'Page a b' }]);
    await expect(agent.readResource({ uri: 'room://nothing' })).rejects.toThrow('room://nothing');
  });
});

describe('the arguments of all calls of a seat', () => {
  it('have a limit of their own, since a trace keeps them: what is beyond it is not run', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const agent = await sitDown(seat);
    const call = (length: number) => agent.callTool({ name: 'note', arguments: { text: 'x'.repeat(length) } });
    const large = 4 * 1_024 * 1_024 - 1_024;
    for (let count = 0; count < 8; count += 1) expect(JSON.stringify(await call(large))).toContain('text');
    const refused = await call(large);
    expect(refused).toMatchObject({ isError: true });
    expect(JSON.stringify(refused)).toContain('may have 33554432');
    expect((await agent.callTool({ name: 'note', arguments: {} })).content).toEqual([{ type: 'text', text: '1' }]);
    expect((await service.store.trace(seat.trace_id))?.usage.tool_calls).toBe(9);
  });
});

describe('structuredContent', () => {
  it('is there for a client that fails without it, where a text is JSON and no object', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const gemini = await sitDown(seat, 'legacy', 'gemini-cli-mcp-client');
    expect((await gemini.callTool({ name: 'note', arguments: {} })).structuredContent).toEqual({ result: 1 });
    expect((await gemini.callTool({ name: 'list', arguments: {} })).structuredContent).toEqual({ result: [1, 2] });
    expect((await gemini.callTool({ name: 'wait', arguments: {} })).structuredContent).toBeUndefined();
    expect((await gemini.callTool({ name: 'die', arguments: {} })).structuredContent).toBeUndefined();
    const other = await sitDown(seat);
    expect((await other.callTool({ name: 'list', arguments: {} })).structuredContent).toBeUndefined();
    // The trace has what the environment gave.
    const trace = await service.store.trace(seat.trace_id);
    expect(trace?.tool_calls?.every(({ structured_content }) => structured_content === null)).toBe(true);
  });
});

describe('two clients of a seat', () => {
  it('of both eras share one session of the environment', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const agents = await Promise.all([sitDown(seat), sitDown(seat, 'modern'), sitDown(seat)]);
    const results = await Promise.all(agents.map((agent) => agent.callTool({ name: 'note', arguments: {} })));
    expect(results.map(({ content }) => JSON.stringify(content)).sort()).toEqual(
      ['1', '2', '3'].map((text) => JSON.stringify([{ type: 'text', text }])),
    );
    const trace = await service.store.trace(seat.trace_id);
    expect(new Set(trace?.tool_calls?.map(({ tool_call_id }) => tool_call_id)).size).toBe(3);
  });
});
