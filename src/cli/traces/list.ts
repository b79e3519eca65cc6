import { type Command, Option } from 'commander';
import { runStatusSchema } from '../../contract/run.ts';
import { runningMs } from '../../contract/running-time.ts';
import { originSchema, type TraceSummary } from '../../contract/trace.ts';
import type { TraceQuery } from '../../trace/trace-store.ts';
import { durationText } from '../amounts.ts';
import { UsageError } from '../failure.ts';
import { openInstallation } from '../installation.ts';
import { collect, gradesOption, parseNumber, wholeNumber } from '../options.ts';
import { colors, note, printable, printJson, printTable } from '../terminal.ts';
import { parseMoment } from './moments.ts';

export function addTracesListCommand(traces: Command): void {
  traces
    .command('list')
    .description('List traces, newest first, of every account.')
    .option('--env <name>', 'of this environment')
    .option('--scenario <name>', 'of this scenario')
    .option('--model <model>', 'of this model')
    .addOption(new Option('--status <status>', 'in this state').choices(runStatusSchema.options))
    .addOption(new Option('--origin <origin>', 'from here').choices(originSchema.options))
    .option('--account <account>', 'of this account')
    .option('--min-reward <reward>', 'with a reward of at least this', parseNumber)
    .option('--max-reward <reward>', 'with a reward of at most this', parseNumber)
    .option('--since <time>', 'made since then: ISO 8601, or an age such as 12h or 30d', parseMoment)
    .option('--until <time>', 'made until then', parseMoment)
    .option('--metadata <key=value>', 'with this metadata; may be repeated', collect)
    .addOption(new Option('--sort <by>', 'the most first').choices(['created_at', 'reward', 'duration', 'tokens']))
    .addOption(gradesOption())
    .option('--limit <count>', 'of one page, 1 to 100 (default 50)', wholeNumber(1, 100))
    .option('--cursor <cursor>', 'the page after this one, as the last page says')
    .option('--json', 'print {"object", "data", "next_cursor"}, as GET /v1/traces answers')
    .action(listTraces);
}

interface ListOptions {
  readonly env?: string;
  readonly scenario?: string;
  readonly model?: string;
  readonly status?: TraceQuery['status'];
  readonly origin?: TraceQuery['origin'];
  readonly account?: string;
  readonly minReward?: number;
  readonly maxReward?: number;
  readonly since?: number;
  readonly until?: number;
  readonly metadata?: readonly string[];
  readonly sort?: TraceQuery['sort'];
  readonly grades?: TraceQuery['grades'];
  readonly limit?: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

async function listTraces(options: ListOptions): Promise<void> {
  const { env: envName, scenario: scenarioName, metadata, json = false, ...rest } = options;
  const given = { ...rest, envName, scenarioName, metadata: toMetadata(metadata) };
  const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as TraceQuery;
  await using installation = await openInstallation();
  const { data, nextCursor } = await installation.store.list(query);
  if (json) return printJson({ object: 'list', data, next_cursor: nextCursor });
  if (data.length === 0) return note('No traces like that.');
  printTable([
    ['TRACE', 'MADE', 'STATE', 'REWARD', 'SCENARIO', 'MODEL', 'TOOK', 'QUEUED', 'TOKENS'],
    ...data.map(toRow),
  ]);
  if (nextCursor !== null) note(colors.dim(`There are more: --cursor ${nextCursor}`));
}

function toRow(trace: TraceSummary): readonly string[] {
  const took = runningMs(trace);
  return [
    trace.trace_id,
    trace.created_at,
    trace.status,
    trace.reward === null ? '-' : String(Number(trace.reward.toFixed(4))),
    printable(`${trace.env_name}/${trace.scenario_name}`, 48),
    printable(trace.model, 32),
    took === null ? '-' : durationText(took),
    durationText(trace.timing.queued_ms),
    String(trace.usage.total_tokens),
  ];
}

function toMetadata(pairs: readonly string[] = []): Readonly<Record<string, string>> | undefined {
  if (pairs.length === 0) return undefined;
  const entries = pairs.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--metadata takes key=value, not "${pair}".`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(entries);
}
