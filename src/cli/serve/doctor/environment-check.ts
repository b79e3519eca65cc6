import { messageOf } from '../../../contract/errors.ts';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { EnvironmentPool } from '../../../environment/client/pool/environment-pool.ts';
import { checkSandboxes, readScenarioWarnings } from '../../../environment/client/scenario-warnings.ts';
import { withDeadline } from '../../../support/runtime/deadline.ts';
import { countText } from '../../../support/text/figures.ts';
import type { Finding } from './finding.ts';

/** Most log lines of an environment that does not start. */
const MAX_LINES = 20;

export interface HowToCheck {
  /** Limit of the start and of each answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Further environment variables of the process. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** Called while the environment runs. */
  readonly onUp?: (() => Promise<void>) | undefined;
}

/** Starts an environment like a run does, reads its lists and ends it. */
export async function checkEnvironment(
  name: string,
  target: EnvironmentTarget,
  { timeoutMs, variables, onUp }: HowToCheck,
): Promise<Finding> {
  const title = `environment ${name}`;
  const startedAt = performance.now();
  const log: string[] = [];
  const pool = new EnvironmentPool({ perEnvironment: 0 });
  try {
    const onLog = ({ message }: { readonly message: string }) => log.push(message);
    // One limit for both steps: a separate process may read the code before the start.
    const client = await withDeadline(
      (signal) => pool.read(withVariables(target, variables), { signal, timeoutMs, onLog }),
      {
        ms: timeoutMs,
        toError: () => new Error(`It did not finish connecting within ${timeoutMs} ms`),
      },
    );
    const readyMs = Math.round(performance.now() - startedAt);
    try {
      const [scenarios, tools] = await Promise.all([client.scenarios({ timeoutMs }), client.tools({ timeoutMs })]);
      await onUp?.();
      await checkSandboxes(client);
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
  } finally {
    await pool.close();
  }
}

function withVariables(target: EnvironmentTarget, variables: HowToCheck['variables']): EnvironmentTarget {
  if (variables === undefined || (target.kind !== 'module' && target.kind !== 'command')) return target;
  return { ...target, env: { ...target.env, ...variables } };
}
