import type { Command } from 'commander';
import { pino } from 'pino';
import { z } from 'zod';
import { runAcceptedSchema } from '../contract/run.ts';
import { UsageError } from './failure.ts';
import { type Installation, openInstallation } from './installation.ts';
import { parsePort } from './options.ts';
import { createRunView, describeOutcome } from './run-view.ts';
import { ensureLocalKey, startService, untilSignal } from './service.ts';
import { signedInAddress } from './signed-in-address.ts';
import { colors, print } from './terminal.ts';

const DEMO_RUN = { env_name: 'retail', scenario_name: 'task', model: 'proctor/oracle' } as const;
const LONGEST_RUN_SECONDS = 60;

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description(
      'What npm start does: serve, run the retail desk with its own solution, show the reward and the trace.',
    )
    .option('--port <port>', 'port of the run service (default 8320)', parsePort)
    .option('--task <id>', 'task of the retail desk', '1')
    .option('--once', 'end after the run instead of serving on')
    .action(demo);
}

interface DemoOptions {
  readonly port?: number;
  readonly task: string;
  readonly once?: boolean;
}

async function demo({ port, task, once }: DemoOptions): Promise<void> {
  await using installation = await openInstallation(port === undefined ? {} : { port });
  if (!installation.environments.has(DEMO_RUN.env_name)) {
    throw new UsageError('The demo needs environments/retail: start it in a checkout of Proctor.');
  }
  const key = (await ensureLocalKey(installation, '127.0.0.1')) ?? (await temporaryKey(installation));
  const service = await startService(installation, {
    host: '127.0.0.1',
    port: installation.settings.ports.runService,
    logger: pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true })),
  });
  try {
    print(
      `${colors.bold('Proctor')} serves at ${service.url}. Running ${DEMO_RUN.env_name}/${DEMO_RUN.scenario_name} with ${DEMO_RUN.model}:`,
    );
    print();
    const body = JSON.stringify({ ...DEMO_RUN, scenario_args: { task_id: task } });
    const traceId = await playRun(installation, service.url, key, body);
    print();
    await printNextSteps(installation, { url: service.url, traceId, body });
    if (once) return;
    print(colors.dim('Ctrl-C stops it.'));
    await untilSignal();
  } finally {
    await service.close();
  }
}

/** Through the same HTTP request that anybody would send; the events are followed as they are written. */
async function playRun(installation: Installation, url: string, key: string, body: string): Promise<string> {
  const { store } = installation;
  const reply = await fetch(`${url}/v1/agent/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(LONGEST_RUN_SECONDS * 1_000),
  });
  if (!reply.ok) throw new Error(`POST /v1/agent/run answered ${reply.status}: ${await reply.text()}`);
  const { trace_id } = runAcceptedSchema.parse(await reply.json());
  const view = createRunView('', print);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`The run ${trace_id} has not ended within ${LONGEST_RUN_SECONDS} s`)),
      LONGEST_RUN_SECONDS * 1_000,
    );
    let shown = 0;
    const show = (events: Parameters<typeof view>[0]) => {
      const fresh = events.filter(({ seq }) => seq > shown);
      shown = fresh.at(-1)?.seq ?? shown;
      view(fresh);
      if (!fresh.some(({ type }) => type === 'run.finished')) return;
      clearTimeout(timer);
      unsubscribe();
      resolve();
    };
    const unsubscribe = store.subscribe(trace_id, show);
    store.events(trace_id).then(show, reject);
  });
  const trace = await store.trace(trace_id);
  if (trace === undefined) throw new Error(`Trace ${trace_id} is gone`);
  print();
  print(describeOutcome(trace));
  if (trace.status !== 'completed') throw new Error('The demo run did not complete; its trace says why.');
  return trace_id;
}

async function printNextSteps(
  installation: Installation,
  { url, traceId, body }: { readonly url: string; readonly traceId: string; readonly body: string },
): Promise<void> {
  print(`${colors.bold('The trace')}   ${await signedInAddress(installation, traceId)}`);
  print();
  print(colors.bold('Your own run:'));
  print(`  curl ${url}/v1/agent/run -H "Authorization: Bearer $(cat .proctor/key)" \\`);
  print(`    -H 'Content-Type: application/json' -H 'Prefer: wait=60' -d '${body}'`);
  print();
  print(colors.bold('A real model:'));
  print(
    '  put PROCTOR_GATEWAY_URL (any OpenAI-compatible address) and PROCTOR_GATEWAY_API_KEY into .env, start again,',
  );
  print('  and name the model in "model"; or: npx proctor run retail task --arg task_id=\'"1"\' --model <model>');
  print();
}

/** Keys exist, but the local one is not kept in this directory any more: a key of its own for this demo. */
async function temporaryKey(installation: Installation): Promise<string> {
  const name = `demo-${Date.now().toString(36)}`;
  return z.string().parse((await installation.accounts.createKey({ name })).key);
}
