import { expect, it } from 'vitest';
import { createProject, proctor } from './command.ts';
import { MANY_COMMANDS, partsOf } from './eval/project.ts';

it('"last" is the newest of what a command takes, and each command says which one', MANY_COMMANDS, async () => {
  const cwd = createProject('counter');
  const evaluated = await proctor(['eval', 'counter/count_to', '--model', 'proctor/oracle', '--json', '-q'], { cwd });
  const { evaluation_id } = JSON.parse(evaluated.stdout).evaluation ?? JSON.parse(evaluated.stdout);
  const play = async () => {
    const command = ['run', 'counter', 'count_to', '--arg', 'target=1', '--model', 'proctor/oracle', '--json'];
    return /[0-9a-f]{32}/.exec((await proctor(command, { cwd })).stdout)?.[0] ?? '';
  };
  const traceId = await play();

  const exported = await proctor(['export', 'last', '--format', 'jsonl', '--out', 'last.jsonl'], { cwd });
  expect([exported.code, exported.stderr]).toEqual([
    0,
    expect.stringContaining(`last is the evaluation ${evaluation_id}\n`),
  ]);
  // A run that waits in the queue cannot be replayed.
  const waiting = await play();
  const { database } = await partsOf(cwd);
  await database.kysely.updateTable('traces').set({ status: 'queued' }).where('trace_id', '=', waiting).execute();
  const replayed = await proctor(['replay', 'last'], { cwd });
  expect([replayed.code, replayed.stderr]).toEqual([0, expect.stringContaining(`last is the trace ${traceId}\n`)]);
});
