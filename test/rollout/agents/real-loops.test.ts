import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { startScriptedGateway } from '../../../src/cli/play/agents/scripted-gateway.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startService, traceIdOf } from '../../service/runs/service.ts';
import { agentsOf } from './agents.ts';

// They load large packages, on machines that have other things to do.
vi.setConfig({ testTimeout: 120_000 });

const referees = fileURLToPath(new URL('../../agent-referees/node_modules/', import.meta.url));
const isInstalled = existsSync(join(referees, '.package-lock.json'));
if (!isInstalled) {
  console.warn('SKIPPED: the tests of loops of others, since they are not installed (npm run referees:agents)');
}

/** Beside the packages of the referees, which the programs import. */
const folder = join(referees, '.proctor-agents');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Where a program of another folder finds those packages. */
function placed(path: string): string {
  mkdirSync(folder, { recursive: true });
  const target = join(folder, basename(path));
  cpSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), target);
  return target;
}

describe.skipIf(!isInstalled)('a program of', () => {
  it.each(['agents-sdk.mjs', 'langgraph.mjs'])('docs/examples/%s plays as a command', async (name) => {
    const gateway = await startScriptedGateway({
      calls: [{ name: 'increment', arguments: { by: 3 } }],
      answer: 'The counter shows 3.',
    });
    const program = placed(`docs/examples/${name}`);
    const service = await startService({
      agents: agentsOf({ loop: { command: ['node', program, '{mcp_url}', '{prompt}'] } }),
      models: createModels({ gatewayUrl: gateway.url, gatewayApiKey: 'key-of-the-gateway' }),
    });
    const trace = await service.ended(traceIdOf(await service.run({ agent: 'loop', model: 'scripted' })));
    await gateway.close();
    expect(trace).toMatchObject({ status: 'completed', outcome: 'graded', reward: 1, ledger: [] });
    expect(trace.answer).toBe('The counter shows 3.');
  });

  it('the SDK of the Agent Client Protocol finds no fault in its client', async () => {
    const command = ['node', placed('test/agent-referees/agents/acp-sdk.mjs')];
    const service = await startService({ agents: agentsOf({ sdk: { command, protocol: 'acp', needs: 'none' } }) });
    const trace = await service.ended(traceIdOf(await service.run({ agent: 'sdk', model: undefined })));
    expect(trace).toMatchObject({ status: 'completed', outcome: 'graded', reward: 1 });
    expect(trace.answer).toBe('Permitted: once. The counter shows 3.');
  });
});
