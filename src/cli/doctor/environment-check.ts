import { connectEnvironment } from '../../client/connect.ts';
import type { EnvironmentTarget } from '../../client/environment-client.ts';
import { readScenarioWarnings } from '../../client/scenario-warnings.ts';
import { messageOf } from '../../contract/errors.ts';
import { countText } from '../amounts.ts';
import type { Finding } from './finding.ts';

/** Log lines that are shown of an environment that does not start. */
const MAX_LINES = 20;

/**
 * Starts an environment as a run would, asks what it offers, and ends it.
 *
 * @param timeoutMs that its start may take, and each answer.
 */
export async function checkEnvironment(name: string, target: EnvironmentTarget, timeoutMs: number): Promise<Finding> {
  const title = `environment ${name}`;
  const startedAt = performance.now();
  const log: string[] = [];
  try {
    const client = await connectEnvironment(target, { timeoutMs, onLog: ({ message }) => log.push(message) });
    const readyMs = Math.round(performance.now() - startedAt);
    try {
      const [scenarios, tools] = await Promise.all([client.scenarios({ timeoutMs }), client.tools({ timeoutMs })]);
      const message =
        `${client.name} ${client.version} is up in ${readyMs} ms over MCP ${client.protocol}: ` +
        `${countText(scenarios.length, 'scenario')}, ${countText(tools.length, 'tool')}`;
      const facts = { ready_ms: readyMs, scenarios: scenarios.length, tools: tools.length, protocol: client.protocol };
      const faults = await readScenarioWarnings(client, { timeoutMs });
      if (faults.length > 0) {
        const fault = `${message}; ${countText(faults.length, 'scenario')} will fail`;
        return { name: title, status: 'warn', message: fault, lines: faults, facts };
      }
      if (scenarios.length > 0) return { name: title, status: 'ok', message, facts };
      return { name: title, status: 'warn', message: `${message}; nothing can be run without a scenario`, facts };
    } finally {
      await client.close();
    }
  } catch (thrown) {
    const [first = '', ...rest] = messageOf(thrown)
      .split('\n')
      .filter((line) => line.trim() !== '');
    const said = rest.length > 0 ? rest : log.flatMap((text) => text.split('\n'));
    return { name: title, status: 'fail', message: first, lines: said.slice(-MAX_LINES) };
  }
}
