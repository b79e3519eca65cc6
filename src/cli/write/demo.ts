import type { Command } from 'commander';
import type { TraceEvent } from '../../contract/service/event.ts';
import { runAcceptedSchema } from '../../contract/service/run.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { type Installation, openInstallation } from '../../service/runs/installation.ts';
import { shellQuoted } from '../../support/text/shell-quote.ts';
import { UsageError } from '../base/failure.ts';
import { localKey, localKeyFile } from '../base/local-key.ts';
import { createLogger } from '../base/logger.ts';
import { parsePort } from '../base/options.ts';
import { startService } from '../base/service.ts';
import { listenForStop, untilStopped } from '../base/signals.ts';
import { signedInAddress } from '../base/signed-in-address.ts';
import { startTelemetry } from '../base/telemetry.ts';
import { colors, note, print } from '../base/terminal.ts';
import { asTyped } from '../base/typed-command.ts';
import { createRunView, describeOutcome } from '../play/run-view.ts';

const DEMO_RUN = { env_name: 'retail', scenario_name: 'task', model: 'proctor/oracle' } as const;
const LONGEST_RUN_SECONDS = 60;

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('Start a server, run the retail desk with its own solution, and show the reward and the trace.')
    .option('--port <port>', 'port of the run service (default 8320)', parsePort)
    .option('--task <id>', 'task of the retail desk', '1')
    .option('--once', 'end after the run instead of serving on')
    .addHelpText(
      'after',
      `
Examples:
  $ proctor demo
  $ proctor demo --task 3 --port 9000 --once`,
    )
    .action(demo);
}

interface DemoOptions {
  readonly port?: number;
  readonly task: string;
  readonly once?: boolean;
}

async function demo({ port, task, once }: DemoOptions): Promise<void> {
  using stop = listenForStop();
  await using installation = await openInstallation(port === undefined ? {} : { port });
  await using _telemetry = await startTelemetry({ ...installation, stop: stop.signal, warn: note });
  if (!installation.environments.has(DEMO_RUN.env_name)) {
    throw new UsageError('The demo needs environments/retail: start it in a checkout of Proctor.');
  }
  const key = await localKey(installation);
  const service = await startService(installation, {
    host: '127.0.0.1',
    port: installation.settings.ports.runService,
    logger: createLogger('warn', installation.redactor),
  });
  try {
    print(
      `${colors.bold('Proctor')} serves at ${service.url}. Running ${DEMO_RUN.env_name}/${DEMO_RUN.scenario_name} with ${DEMO_RUN.model}:`,
    );
    print();
    const body = JSON.stringify({ ...DEMO_RUN, scenario_args: { task_id: task } });
    const limit = AbortSignal.timeout(LONGEST_RUN_SECONDS * 1_000);
    const trace = await playRun(installation, { url: service.url, key, body }, AbortSignal.any([stop.signal, limit]));
    if (stop.signal.aborted) return;
    print();
    print(describeOutcome(trace));
    if (trace.status !== 'completed')
      throw new Error(`The run of the demo did not complete: "proctor open ${trace.trace_id}" shows it`);
    print();
    await printNextSteps(installation, { url: service.url, traceId: trace.trace_id, body });
    if (once) return;
    print(colors.dim('Ctrl-C stops it.'));
    await untilStopped(stop.signal);
  } finally {
    await service.close();
  }
}

/** Plays a run with an ordinary HTTP request, and shows its events as they are written. */
async function playRun(
  { store }: Installation,
  { url, key, body }: { readonly url: string; readonly key: string; readonly body: string },
  signal: AbortSignal,
): Promise<Trace> {
  const reply = await fetch(`${url}/v1/agent/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
    signal,
  });
  if (!reply.ok) throw new Error(`POST /v1/agent/run answered ${reply.status}: ${await reply.text()}`);
  const { trace_id } = runAcceptedSchema.parse(await reply.json());
  const view = createRunView({ write: print });
  let shown = 0;
  let unsubscribe = () => {};
  try {
    await new Promise<void>((resolve, reject) => {
      const show = (events: readonly TraceEvent[]) => {
        const fresh = events.filter(({ seq }) => seq > shown);
        shown = fresh.at(-1)?.seq ?? shown;
        view(fresh);
        if (fresh.some(({ type }) => type === 'run.finished')) resolve();
      };
      unsubscribe = store.subscribe(trace_id, show);
      store.events(trace_id).then(show, reject);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  } finally {
    unsubscribe();
  }
  const trace = await store.trace(trace_id);
  if (trace === undefined) throw new Error(`Trace ${trace_id} is gone`);
  return trace;
}

async function printNextSteps(
  installation: Installation,
  { url, traceId, body }: { readonly url: string; readonly traceId: string; readonly body: string },
): Promise<void> {
  print(`${colors.bold('The trace')}   ${await signedInAddress(installation, { path: `/traces/${traceId}` })}`);
  print();
  print(colors.bold('Your own run:'));
  print(`  curl ${url}/v1/agent/run -H "Authorization: Bearer $(cat ${localKeyFile(installation)})" \\`);
  print(`    -H 'Content-Type: application/json' -H 'Prefer: wait=60' -d ${shellQuoted(body)}`);
  print();
  print(colors.bold('A real model:'));
  print(
    '  put PROCTOR_GATEWAY_URL (any OpenAI-compatible address) and PROCTOR_GATEWAY_API_KEY into .env, start again,',
  );
  print(asTyped('  and name the model in "model"; or: npx proctor run retail task --arg task_id=1 --model <model>'));
  print();
}
