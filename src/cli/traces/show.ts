import type { Command } from 'commander';
import { ApiError } from '../../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../../contract/names.ts';
import type { Trace } from '../../contract/trace.ts';
import { durationText } from '../amounts.ts';
import { type Installation, openInstallation } from '../installation.ts';
import { createRunView, describeOutcome } from '../run-view.ts';
import { colors, print, printable, printableLines, printJson } from '../terminal.ts';

/** Events that are read, and shown, at once. */
const PAGE = 500;

export function addTracesShowCommand(traces: Command): void {
  traces
    .command('show <trace_id>')
    .description('Show what happened in a trace, step by step.')
    .option('--json', 'print the whole trace, as GET /v1/traces/{trace_id} answers')
    .action(showTrace);
}

async function showTrace(traceId: string, { json }: { readonly json?: boolean }): Promise<void> {
  await using installation = await openInstallation();
  const trace = TRACE_ID_PATTERN.test(traceId) ? await installation.store.trace(traceId) : undefined;
  if (trace === undefined) {
    const hint = '"proctor traces list" shows those that there are';
    throw new ApiError('trace_not_found', `There is no trace ${JSON.stringify(traceId)}: ${hint}.`);
  }
  if (json) return printJson(trace);
  printHead(trace);
  print();
  await printEvents(installation, traceId);
  print();
  printEnd(trace);
}

function printHead(trace: Trace): void {
  const line = (name: string, text: string) => print(`${colors.bold(name.padEnd(9))} ${text}`);
  line('trace', trace.trace_id);
  line('scenario', printable(`${trace.env_name}/${trace.scenario_name} ${JSON.stringify(trace.scenario_args)}`, 400));
  line('model', printable(trace.model));
  line('made', `${trace.created_at} (${trace.origin})`);
  const attempts = trace.attempts.length === 1 ? '' : `, attempt ${trace.attempt}`;
  line('state', `${trace.status}${trace.stop_reason === null ? '' : ` (${trace.stop_reason})`}${attempts}`);
  const metadata = Object.entries(trace.metadata).map(([key, value]) => `${key}=${value}`);
  if (metadata.length > 0) line('metadata', printable(metadata.join(', '), 400));
}

/** As a person would have seen them happen. */
async function printEvents({ store }: Installation, traceId: string): Promise<void> {
  const view = createRunView('', print);
  for (let after = 0; ; ) {
    const page = await store.events(traceId, { after, limit: PAGE });
    view(page);
    after += page.length;
    if (page.length < PAGE) return;
  }
}

function printEnd(trace: Trace): void {
  if (trace.answer !== null) {
    const answer = typeof trace.answer === 'string' ? trace.answer : JSON.stringify(trace.answer);
    print(`${colors.bold('answer')} ${printableLines(answer)}`);
  }
  for (const { name, value } of trace.evaluation?.subscores ?? []) print(`  ${printable(name)} ${value}`);
  if (trace.finished_at !== null) print(describeOutcome(trace));
  const { timing, usage } = trace;
  const parts = (['queued', 'environment', 'setup', 'model', 'tool', 'evaluate'] as const).map(
    (part) => `${part} ${durationText(timing[`${part}_ms`])}`,
  );
  print(colors.dim(`${durationText(timing.total_ms)}: ${parts.join(', ')}`));
  print(
    colors.dim(
      `${usage.model_calls} model calls, ${usage.tool_calls} tool calls, ` +
        `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`,
    ),
  );
  print(colors.dim(trace.trace_url));
}
