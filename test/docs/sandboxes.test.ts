import { expect, it } from 'vitest';
import Repair from '../../docs/examples/repair.ts';
import { enginesOf, FakeEngine } from '../environment/sandbox/fake-engine.ts';
import { connectInMemory, evaluate, HARNESS, setup } from '../environment/server/clients.ts';

// docs/examples/repair.ts, which docs/sandboxes.md shows.
it.each([
  ['a repair', "printf 'exports.add = (a, b) => a + b;' > src/main.js", 1],
  ['nothing', 'true', 0],
])(
  'the repair environment rewards %s, in a sandbox in which nothing of the agent runs',
  async (_name, command, reward) => {
    const engine = new FakeEngine();
    const client = await connectInMemory(Repair, { meta: HARNESS, engines: async () => enginesOf(engine) });
    await setup(client, 'fix');
    await client.callTool({ name: 'bash', arguments: { command }, _meta: { 'svc/audience': 'agent' } });
    const { structuredContent } = await evaluate(client, 'fix');
    expect(structuredContent).toMatchObject({ reward });
    expect(engine.opened).toHaveLength(2);
    expect(engine.opened[0]?.endedProcesses).toBe(1);
  },
);
