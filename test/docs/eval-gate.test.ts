import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { COMMAND } from '../cli/command.ts';
import { counting, MANY_COMMANDS, projectWith } from '../cli/eval/project.ts';
import { read } from './documents.ts';

const WORKFLOW = 'docs/examples/eval-gate.yml';

const workflowSchema = z.object({
  jobs: z.object({
    evaluate: z.object({
      env: z.record(z.string(), z.string()),
      steps: z.array(
        z.looseObject({ name: z.string().optional(), if: z.string().optional(), run: z.string().optional() }),
      ),
    }),
  }),
});

const commentsSchema = z.array(z.object({ id: z.int(), user: z.object({ type: z.string() }), body: z.string() }));

/** As much of GitHub's command as the workflow uses; its comments are a file. */
const GH = `#!/usr/bin/env node
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const args = process.argv.slice(2);
const after = (name) => args[args.indexOf(name) + 1];
const comments = existsSync('comments.json') ? JSON.parse(readFileSync('comments.json', 'utf8')) : [];
if (!args.includes('--method')) {
  const mark = /startswith\\("(.*)"\\)/.exec(after('--jq'))[1];
  for (const { id, user, body } of comments) if (user.type === 'Bot' && body.startsWith(mark)) console.log(id);
} else {
  const body = readFileSync(after('--field').replace('body=@', ''), 'utf8');
  const id = Number(/comments\\/(\\d+)$/.exec(after('PATCH') ?? '')?.[1]);
  const known = comments.find((comment) => comment.id === id);
  if (known) known.body = body;
  else comments.push({ id: comments.length + 100, user: { type: 'Bot' }, body });
  writeFileSync('comments.json', JSON.stringify(comments));
}
`;

/** A project with the programs that the workflow calls, and its steps by name. */
function createJob(model: string) {
  const { cwd } = projectWith(counting(1, 2, 3, 4), 'counter');
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'gh'), GH, { mode: 0o755 });
  const npx = `#!/bin/sh\nshift\nexec '${process.execPath}' '${COMMAND}' "$@"\n`;
  writeFileSync(join(bin, 'npx'), npx, { mode: 0o755 });
  const { steps } = workflowSchema.parse(parse(read(WORKFLOW))).jobs.evaluate;
  const play = async (name: string, variables: Readonly<Record<string, string>> = {}) => {
    const script = steps.find((step) => step.name === name)?.run;
    if (script === undefined) throw new Error(`The workflow has no step ${name}`);
    const env = {
      ...{ PATH: `${bin}:${process.env.PATH}`, HOME: cwd, MODEL: model, GITHUB_REPOSITORY: 'org/repo', PULL: '17' },
      ...{ GITHUB_OUTPUT: join(cwd, 'output'), NAME: 'pr-17', ...variables },
    };
    // GitHub runs a step so.
    return await promisify(execFile)('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd, env }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ code, stdout }),
    );
  };
  const comments = () =>
    existsSync(join(cwd, 'comments.json'))
      ? commentsSchema.parse(JSON.parse(readFileSync(join(cwd, 'comments.json'), 'utf8')))
      : [];
  const output = () => /code=(\d)\n$/.exec(readFileSync(join(cwd, 'output'), 'utf8'))?.[1] ?? '';
  return { cwd, play, comments, output };
}

describe(`${WORKFLOW}, which docs/ci.md shows`, MANY_COMMANDS, () => {
  it('compares a pull request with main, and updates its one comment in place', async () => {
    const job = createJob('proctor/oracle');
    expect(await job.play('Evaluate', { NAME: 'main' })).toMatchObject({ code: 0 });
    expect(await job.play('Evaluate')).toMatchObject({ code: 0 });
    expect(await job.play('Judge')).toMatchObject({ code: 0 });
    expect(job.output()).toBe('0');
    writeFileSync(
      join(job.cwd, 'comments.json'),
      JSON.stringify([{ id: 1, user: { type: 'User' }, body: readFileSync(join(job.cwd, 'gate.md'), 'utf8') }]),
    );
    expect(await job.play('Comment')).toMatchObject({ code: 0 });
    expect(job.comments().map(({ id }) => id)).toEqual([1, 101]);
    expect(await job.play('Decide', { CODE: job.output() })).toMatchObject({ code: 0 });

    expect(await job.play('Evaluate', { MODEL: 'proctor/noop' })).toMatchObject({ code: 0 });
    expect(await job.play('Judge')).toMatchObject({ code: 0 });
    expect(job.output()).toBe('1');
    expect(await job.play('Comment')).toMatchObject({ code: 0 });
    expect(job.comments().map(({ id }) => id)).toEqual([1, 101]);
    expect(job.comments()[1]?.body).toContain('❌ Failed: <code>pr-17</code>');
    expect(job.comments()[1]?.body).toContain('0 won, 4 lost, 0 tied');
    expect(await job.play('Decide', { CODE: job.output() })).toMatchObject({ code: 1 });
    expect(await job.play('Decide', { CODE: '3' })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^::warning::/),
    });
  });

  it('is a workflow whose steps for pull requests are for those alone, with the permission to comment', () => {
    const workflow = z
      .object({ permissions: z.record(z.string(), z.string()), on: z.record(z.string(), z.unknown()) })
      .parse(parse(read(WORKFLOW)));
    expect(workflow.permissions).toEqual({ contents: 'read', 'pull-requests': 'write' });
    expect(Object.keys(workflow.on)).toEqual(['push', 'pull_request']);
    const { steps } = workflowSchema.parse(parse(read(WORKFLOW))).jobs.evaluate;
    for (const step of steps.filter(({ name }) => ['Judge', 'Comment', 'Decide'].includes(name ?? ''))) {
      expect(step.if).toMatch(/^github\.event_name == 'pull_request'/);
    }
    // Texts of a pull request are data of a script, never part of it.
    for (const { run } of steps) expect(run ?? '').not.toContain('${{');
  });
});
