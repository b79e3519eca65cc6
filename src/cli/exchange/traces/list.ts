import { type Command, Option } from 'commander';
import type { TraceListQuery } from '../../../client/service-client.ts';
import { runningMs } from '../../../contract/running-time.ts';
import { runStatusSchema } from '../../../contract/service/run.ts';
import { originSchema, type TraceSummary } from '../../../contract/service/trace.ts';
import { durationText, grouped, NO_FIGURE, rewardText } from '../../../support/text/figures.ts';
import { UsageError } from '../../base/failure.ts';
import { parseMoment } from '../../base/moments.ts';
import { collect, gradesOption, parseNumber, wholeNumber } from '../../base/options.ts';
import { openPlace } from '../../base/place.ts';
import { colors, note, printable, printJson, printTable } from '../../base/terminal.ts';
import { addPlaceOptions, type TracesPlaceOptions } from './place-options.ts';
import { type TraceFilterOptions, toTraceQuery } from './trace-filters.ts';

export function addTracesListCommand(traces: Command): void {
  const command = traces
    .command('list')
    .description('List traces, newest first.')
    .option('--env <name>', 'of this environment')
    .option('--scenario <name>', 'of this scenario')
    .option('--model <model>', 'of this model')
    .addOption(new Option('--status <status>', 'in this state').choices(runStatusSchema.options))
    .addOption(new Option('--origin <origin>', 'from here').choices(originSchema.options))
    .option('--min-reward <reward>', 'with a reward of at least this', parseNumber)
    .option('--max-reward <reward>', 'with a reward of at most this', parseNumber)
    .option('--since <time>', 'made since then: ISO 8601, or an age such as 12h or 30d', parseMoment)
    .option('--until <time>', 'made until then', parseMoment)
    .option('--metadata <key=value>', 'with this metadata; may be repeated', collect)
    .addOption(new Option('--sort <by>', 'the most first').choices(['created_at', 'reward', 'duration', 'tokens']))
    .addOption(gradesOption())
    .option('--limit <count>', 'of one page, 1 to 100 (default 50)', wholeNumber(1, 100))
    .option('--cursor <cursor>', 'the page after this one, as the last page says');
  addPlaceOptions(command)
    .option('--json', 'print {"object", "data", "next_cursor"}, as GET /v1/traces answers')
    .action(listTraces);
}

interface ListOptions extends TracesPlaceOptions, TraceFilterOptions {
  readonly metadata?: readonly string[];
  readonly sort?: TraceListQuery['sort'];
  readonly grades?: TraceListQuery['grades'];
  readonly limit?: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

async function listTraces(options: ListOptions): Promise<void> {
  const { sort, grades, limit, cursor: from } = options;
  const query = toTraceQuery(options, { sort, grades, limit, cursor: from, metadata: toMetadata(options.metadata) });
  await using place = await openPlace(options);
  const page = await place.client.traces.list(query);
  if (options.json) return printJson(page);
  const { data, next_cursor: cursor } = page;
  if (data.length === 0) return note('No traces like that.');
  printTable([
    ['TRACE', 'MADE', 'STATE', 'REWARD', 'SCENARIO', 'MODEL', 'TOOK', 'QUEUED', 'TOKENS'],
    ...data.map(toRow),
  ]);
  if (cursor !== null) note(colors.dim(`There are more: --cursor ${cursor}`));
}

function toRow(trace: TraceSummary): readonly string[] {
  const took = runningMs(trace);
  return [
    trace.trace_id,
    trace.created_at,
    trace.status,
    rewardText(trace.reward),
    scenarioText(trace),
    printable(trace.model, 32),
    took === null ? NO_FIGURE : durationText(took),
    durationText(trace.timing.queued_ms),
    grouped(trace.usage.total_tokens),
  ];
}

/** Marks a replay and a fork, whose rewards do not come from independent runs. */
function scenarioText({ env_name, scenario_name, parent }: TraceSummary): string {
  const mark = parent === null ? '' : ` (${parent.kind})`;
  return `${printable(`${env_name}/${scenario_name}`, 48)}${mark}`;
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
