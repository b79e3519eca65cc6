import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportTraces } from '../../../src/cli/exchange/export/export-traces.ts';
import type { Loss } from '../../../src/contract/service/import.ts';
import type { Trace } from '../../../src/contract/service/trace.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { importFile } from '../../../src/store/traces/import-file.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { NO_REDACTION } from '../../../src/support/redaction/redactor.ts';
import { sourceOf } from './trace-source.ts';

let folder: string;
let database: Database;
let store: TraceStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-sub-agents-'));
  database = await openDatabase('sqlite::memory:');
  store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320', redactor: false });
});

afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

interface Imported {
  readonly trace: Trace;
  readonly lost: readonly Loss[];
}

async function importOf(value: object): Promise<Imported> {
  const file = join(folder, 'given.json');
  await writeFile(file, JSON.stringify(value));
  const read = await importFile(database, file, { account: 'local', redactor: NO_REDACTION });
  const trace = await store.trace(read.traceIds[0] ?? '');
  if (trace === undefined) throw new Error('The file has no trace.');
  return { trace, lost: read.losses.toList() };
}

async function exported(trace: Trace, format: 'inspect' | 'verifiers'): Promise<string> {
  const out = join(folder, `out.${format}`);
  const { signal } = new AbortController();
  await exportTraces(sourceOf(store), { named: [trace.trace_id], filters: {}, format, out, atif: '1.8', signal });
  return await readFile(format === 'inspect' ? out : join(out, 'results.jsonl'), 'utf8');
}

function said(source: 'system' | 'user' | 'agent', message: string, more: object = {}): object {
  return { source, message, ...more };
}

function trajectory(steps: readonly object[], more: object = {}): object {
  return {
    schema_version: 'ATIF-v1.7',
    session_id: 'session',
    agent: { name: 'lead', version: '2', model_name: 'lead-model' },
    steps: steps.map((step, index) => ({ step_id: index + 1, ...step })),
    ...more,
  };
}

function subAgent(id: string, steps: readonly object[], more: object = {}): object {
  return trajectory(steps, { trajectory_id: id, agent: { name: id, model_name: `${id}-model` }, ...more });
}

const asked = said('user', 'Which book sold best?');
const answered = said('agent', 'Dune sold best.');

describe('a trajectory of ATIF with sub-agents', () => {
  const total = (tokens: number) => ({ total_prompt_tokens: tokens, total_completion_tokens: 1 });
  const given = trajectory([asked, answered], {
    final_metrics: total(100),
    subagent_trajectories: [
      subAgent('searcher', [said('user', 'Find the list.'), said('agent', 'A hundred titles.')], {
        final_metrics: total(7),
      }),
    ],
  });

  it('has the last text of the main conversation as its answer, here and in exports', async () => {
    const { trace } = await importOf(given);
    expect(trace.metadata).toMatchObject({ source_agent: 'lead 2' });
    expect(trace.answer).toBe('Dune sold best.');
    expect(trace.steps.map(({ branch, message }) => [branch, message.content])).toEqual([
      [undefined, 'Dune sold best.'],
      ['searcher', 'A hundred titles.'],
    ]);
    const log = JSON.parse(await exported(trace, 'inspect'));
    expect(log.samples[0].output.choices[0].message.content).toContain('Dune sold best.');
    const row = JSON.parse(await exported(trace, 'verifiers'));
    expect(row.token_usage).toMatchObject({ input_tokens: 107, final_input_tokens: 100 });
  });

  it('counts the tokens of each trajectory at the last response of its own conversation', async () => {
    const { trace, lost } = await importOf(given);
    expect(trace.steps.map(({ branch, usage }) => [branch, usage.prompt_tokens, usage.total_tokens])).toEqual([
      [undefined, 100, 101],
      ['searcher', 7, 8],
    ]);
    expect(lost).toEqual([]);
  });

  it('has no answer where only sub-agents have said something', async () => {
    const silent = said('agent', '', { tool_calls: [{ tool_call_id: 'c', function_name: 'delegate', arguments: {} }] });
    const branches = { subagent_trajectories: [subAgent('searcher', [said('agent', 'A hundred titles.')])] };
    const { trace } = await importOf(trajectory([asked, silent], branches));
    expect(trace.answer).toBeNull();
  });

  it('lists totals that its steps contradict', async () => {
    const counted = said('agent', 'Dune.', { metrics: { prompt_tokens: 40, completion_tokens: 1 } });
    const { trace, lost } = await importOf(trajectory([asked, counted], { final_metrics: total(100) }));
    expect(trace.usage.prompt_tokens).toBe(40);
    expect(lost).toMatchObject([{ field: 'final_metrics', count: 1 }]);
    const same = trajectory([asked, counted], { final_metrics: total(40) });
    expect((await importOf(same)).lost).toEqual([]);
  });
});

describe('an import of ATIF keeps or lists every part of a sub-agent', () => {
  const lookUp = { tool_call_id: 'c1', function_name: 'look_up', arguments: { year: 1965 } };
  const fields = ({ lost }: Imported) => Object.fromEntries(lost.map(({ field, count }) => [field, count]));

  it('keeps its tools, and observations that answer no call as input of its next step', async () => {
    const tools = [{ type: 'function', function: { name: 'look_up', description: 'A year.', parameters: {} } }];
    const observed = {
      tool_calls: [lookUp],
      observation: {
        results: [
          { source_call_id: 'c1', content: 'Dune' },
          { source_call_id: 'c1', content: 'Dune again' },
          { content: 'The page has changed.' },
        ],
      },
    };
    const branch = subAgent('searcher', [said('agent', 'I look.', observed), said('agent', 'It is Dune.')], {
      agent: { name: 'searcher', model_name: 'searcher-model', tool_definitions: tools },
    });
    const read = await importOf(trajectory([asked, answered], { subagent_trajectories: [branch] }));
    const [first, second] = read.trace.steps.filter((step) => step.branch === 'searcher');
    expect(first?.input).toMatchObject({ model: 'searcher-model', messages: [], tools: [{ name: 'look_up' }] });
    expect(first?.tool_results.map(({ content }) => content)).toEqual([[{ type: 'text', text: 'Dune' }]]);
    expect(second?.input?.messages).toEqual([
      { role: 'user', content: 'Dune again' },
      { role: 'user', content: 'The page has changed.' },
    ]);
    expect(read.lost).toEqual([]);
  });

  it('lists messages after its last answer, and one that never answered', async () => {
    const read = await importOf(
      trajectory([asked, answered], {
        subagent_trajectories: [
          subAgent('late', [said('agent', 'Done.'), said('user', 'Go on.'), said('user', 'Hello?')]),
          subAgent('silent', [said('system', 'You search.'), said('user', 'Search.')]),
        ],
      }),
    );
    expect(fields(read)).toEqual({ 'subagent_trajectories[].steps[]': 4, 'subagent_trajectories[].agent': 1 });
  });

  it('lists its notes, its extra, and the reference of the call that began it', async () => {
    const reference = [{ trajectory_id: 'searcher' }];
    const delegated = said('agent', 'I ask.', {
      tool_calls: [{ ...lookUp, extra: { began: 'now' } }],
      observation: { results: [{ source_call_id: 'c1', subagent_trajectory_ref: reference, extra: { kind: 'x' } }] },
    });
    const branch = subAgent(
      'searcher',
      [said('agent', 'Dune.', { extra: { mood: 'good' }, reasoning_effort: 'high' })],
      {
        notes: 'The second try.',
        continued_trajectory_ref: 'next.json',
        extra: { depth: 1 },
        final_metrics: { extra: { seconds: 3 } },
      },
    );
    const read = await importOf(trajectory([asked, delegated, answered], { subagent_trajectories: [branch] }));
    expect(fields(read)).toEqual({
      'steps[].tool_calls[].extra.began': 1,
      'steps[].observation.results[].extra.kind': 1,
      'steps[].observation.results[].subagent_trajectory_ref': 1,
      'subagent_trajectories[].notes': 1,
      'subagent_trajectories[].continued_trajectory_ref': 1,
      'subagent_trajectories[].extra.depth': 1,
      'subagent_trajectories[].final_metrics.extra': 1,
      'subagent_trajectories[].steps[].extra.mood': 1,
      'subagent_trajectories[].steps[].reasoning_effort': 1,
    });
  });

  it('tells two sub-agents of one name apart', async () => {
    const branch = subAgent('searcher', [said('agent', 'Dune.')]);
    const read = await importOf(trajectory([asked, answered], { subagent_trajectories: [branch, branch] }));
    expect(read.trace.steps.map((step) => step.branch)).toEqual([undefined, 'searcher', 'searcher (2)']);
  });
});

describe('an episode of verifiers with a conversation beside the main one', () => {
  const node = (parent: number | null, role: string, content: string) => ({
    parent,
    message: { role, content },
    sampled: role === 'assistant',
  });

  it('has the last text of the main one as its answer, and lists messages that no response followed', async () => {
    const nodes = [
      node(null, 'user', 'Which book sold best?'),
      node(null, 'user', 'Find the list.'),
      node(1, 'assistant', 'A hundred titles.'),
      node(2, 'user', 'Go on.'),
      node(0, 'assistant', 'Dune sold best.'),
    ];
    const calls = [{ node: 2, model: 'searcher-model' }];
    const { trace, lost } = await importOf({ env: { id: 'books' }, traces: [{ version: 1, nodes, calls }] });
    expect(trace.answer).toBe('Dune sold best.');
    expect(trace.steps.map(({ branch, input }) => [branch, input?.model])).toEqual([
      [undefined, undefined],
      ['branch 1', 'searcher-model'],
    ]);
    expect(lost).toMatchObject([{ field: 'traces[].nodes[]', count: 1 }]);
  });
});
