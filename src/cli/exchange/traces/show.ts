import type { Command } from 'commander';
import type { ServiceClient } from '../../../client/service-client.ts';
import { runningMs } from '../../../contract/running-time.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import { padToWidth } from '../../../support/text/display-width.ts';
import { durationText, moneyText } from '../../../support/text/figures.ts';
import { openPlace } from '../../base/place.ts';
import { colors, print, printable, printableLines, printJson } from '../../base/terminal.ts';
import { createRunView, describeOutcome } from '../../play/run-view.ts';
import { findTrace } from './find-trace.ts';
import { addPlaceOptions, type TracesPlaceOptions } from './place-options.ts';

export function addTracesShowCommand(traces: Command): void {
  const command = traces.command('show <trace_id>').description('Show what happened in a trace, step by step.');
  addPlaceOptions(command)
    .option('--full', 'show whole texts, with the stacks and the debug messages of the log')
    .option('--json', 'print the whole trace, as GET /v1/traces/{trace_id} answers')
    .action(showTrace);
}

interface ShowOptions extends TracesPlaceOptions {
  readonly full?: boolean;
  readonly json?: boolean;
}

async function showTrace(traceId: string, { full = false, json, ...options }: ShowOptions): Promise<void> {
  await using place = await openPlace(options);
  const trace = await findTrace(place.client, traceId);
  if (json) return printJson(trace);
  printHead(trace, full);
  print();
  await printEvents(place.client, traceId, full);
  print();
  printEnd(trace);
}

function printHead(trace: Trace, isFull: boolean): void {
  const length = isFull ? Number.POSITIVE_INFINITY : 400;
  const line = (name: string, text: string) => print(`${colors.bold(padToWidth(name, 9))} ${text}`);
  line('trace', trace.trace_id);
  line(
    'scenario',
    printable(`${trace.env_name}/${trace.scenario_name} ${JSON.stringify(trace.scenario_args)}`, length),
  );
  line('model', printable(trace.model));
  line('made', `${trace.created_at} (${trace.origin})`);
  const attempts = trace.attempts.length === 1 ? '' : `, attempt ${trace.attempt}`;
  line('state', `${trace.status}${trace.stop_reason === null ? '' : ` (${trace.stop_reason})`}${attempts}`);
  const metadata = Object.entries(trace.metadata).map(([key, value]) => `${key}=${value}`);
  if (metadata.length > 0) line('metadata', printable(metadata.join(', '), length));
}

/** Prints the events as `proctor run` shows them. */
async function printEvents(client: ServiceClient, traceId: string, isFull: boolean): Promise<void> {
  const view = createRunView({ write: print, isFull });
  for await (const event of client.traces.events(traceId, { follow: false })) if ('seq' in event) view([event]);
}

function printEnd(trace: Trace): void {
  if (trace.answer !== null) {
    const answer = typeof trace.answer === 'string' ? trace.answer : JSON.stringify(trace.answer);
    print(`${colors.bold('answer')} ${printableLines(answer)}`);
  }
  for (const { name, value } of trace.evaluation?.subscores ?? []) print(`  ${printable(name)} ${value}`);
  if (trace.finished_at !== null) print(describeOutcome(trace));
  const { timing, usage } = trace;
  const took = runningMs(trace);
  const parts = (['environment', 'setup', 'model', 'tool', 'evaluate'] as const).map(
    (part) => `${part} ${durationText(timing[`${part}_ms`])}`,
  );
  const total = took === null ? '' : `${durationText(took)}: `;
  print(colors.dim(`${total}${parts.join(', ')}; ${durationText(timing.queued_ms)} in the queue`));
  print(
    colors.dim(
      `${usage.model_calls} model calls, ${usage.tool_calls} tool calls, ` +
        `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`,
    ),
  );
  for (const who of ['user', 'judge', 'sample'] as const) {
    const used = usage[who];
    if (used === undefined || used.model_calls === 0) continue;
    const tokens = `${used.prompt_tokens} + ${used.completion_tokens} tokens`;
    print(colors.dim(`${who}: ${used.model_calls} model calls, ${tokens}, ${moneyText(used.cost_usd)}`));
  }
  print(colors.dim(trace.trace_url));
}
