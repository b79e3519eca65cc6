import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import type { FinishedSession, Svc } from 'proctor/scenario-server';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/contract/errors.ts';
import { createProject, PATIENCE, start } from '../cli/command.ts';
import { Child } from '../environment/server/child.ts';
import { freePort } from '../free-port.ts';
import { says, startGateway } from '../gateway.ts';
import { until } from '../until.ts';
import { blocksOf, createFolder, ROOT, read } from './documents.ts';

const PAGE = 'docs/chat.md';
/** Where the page says that the server listens. */
const ADDRESS = 'http://127.0.0.1:8321';

const hasPython = spawnSync('python3', ['-c', 'import openai']).status === 0;
if (!hasPython) console.warn(`The Python of ${PAGE} is not run: there is no python3 with the package openai.`);

describe('what the page shows', PATIENCE, () => {
  it('in curl is answered as it says, from the first turn to the last', async () => {
    const server = await startAsWritten();
    const answers: unknown[] = [];
    const curl = async (command: string, session: string) => {
      const line = command.replaceAll(ADDRESS, server.url).replace(/^SESSION=.*$/m, '');
      const options = { env: { PATH: process.env.PATH, SESSION: session } };
      const { stdout } = await promisify(execFile)('bash', ['-ec', line], options);
      return stdout;
    };
    let session = '';
    const [first, goOn, ...others] = blocksOf(PAGE, '').filter((block) => /^curl /m.test(block));
    const reply = JSON.parse(await curl(first ?? '', session)) as { readonly svc: Svc };
    answers.push(reply);
    session = reply.svc.session_id;
    expect(goOn).toContain('svc.session_id of the answer');
    const text = await curl(goOn ?? '', session);
    const [streamed = '', finished = ''] = text.split('data: [DONE]\n\n');
    expect(streamed).toContain('"content":"The counter shows 3."');
    answers.push(JSON.parse(finished));
    const shown = blocksOf(PAGE, 'json').slice(0, 2);
    for (const [index, block] of shown.entries()) {
      expect(withoutIds(answers[index])).toEqual(withoutIds(JSON.parse(block.replaceAll(ADDRESS, server.url))));
    }
    // The others answer JSON, of which only what abandons a session that is finished is an error.
    expect(others.length).toBeGreaterThan(2);
    for (const line of others.flatMap(commandsOf)) {
      const answer = JSON.parse(await curl(line, session)) as object;
      expect([line, 'error' in answer]).toEqual([line, line.includes('-X DELETE')]);
    }
  });

  it.runIf(hasPython)('in Python prints the answers and the reward', async () => {
    const server = await startAsWritten();
    const [block = ''] = blocksOf(PAGE, 'python');
    const file = join(createFolder(), 'session.py');
    writeFileSync(file, block.replaceAll(ADDRESS, server.url));
    const { stdout } = await promisify(execFile)('python3', [file]);
    expect(stdout).toMatch(/^The counter shows 3\. \S+\nThe counter shows 3\.\n1(\.0)? The counter shows 3; /);
  });

  it('in TypeScript prints the answers and the reward', async () => {
    const server = await startAsWritten();
    const file = join(createFolder(), 'hold.mts');
    writeFileSync(file, read('docs/examples/hold-session.ts').replaceAll(ADDRESS, server.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file], { cwd: ROOT });
    expect(stdout).toMatch(/^The counter shows 3\. \S+\nThe counter shows 3\.\n1 The counter shows 3; /);
  });

  it('in code serves the desk with the client that it was given', async () => {
    const gateway = await startGateway(says('{"refunded": 25}'));
    const child = new Child(['--import', 'tsx', join(ROOT, 'docs/examples/serve-scenarios.ts')], {
      env: {
        GATEWAY_URL: gateway.url,
        GATEWAY_KEY: 'none',
        PROCTOR_DATABASE_URL: `sqlite:${join(createFolder(), 'proctor.db')}`,
      },
      hasProtocolDescriptor: true,
    });
    await until(() => child.stdout.includes('\n'));
    const [, baseURL = ''] = /^Scenarios at (\S+)$/m.exec(child.stdout) ?? [];
    const client = new OpenAI({ baseURL, apiKey: 'none' });
    const refund = { scenario: 'desk:refund', scenario_args: { order_id: 'A1', amount: 25 } };
    const messages = [{ role: 'user' as const, content: 'Hurry.' }];
    const answer = await client.chat.completions.create({ model: 'gpt-5-mini', messages, ...refund });
    const { session_id } = (answer as typeof answer & { readonly svc: Svc }).svc;
    const result = await client.post<FinishedSession>(`/sessions/${session_id}/finish`);
    expect(result).toMatchObject({ answer: { refunded: 25 }, reward: 0, evaluation: { info: { wrong: ['A1'] } } });
    child.process.kill('SIGINT');
    expect(await child.exited).toBe(0);
  });
});

it('the table of errors has the status of each code that it names', () => {
  const rows = [...read(PAGE).matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)];
  expect(rows.length).toBeGreaterThan(15);
  for (const [, status, code = ''] of rows) {
    expect([code, (ERRORS as Record<string, { readonly status: number }>)[code]?.status]).toEqual([
      code,
      Number(status),
    ]);
  }
});

/** The command that the page begins with, on a free port. */
async function startAsWritten(): Promise<{ readonly url: string }> {
  const [command = ''] = blocksOf(PAGE, '');
  const [, ...args] = command.trim().replace(/^npx /, '').split(' ');
  const running = start([...args, '--port', String(await freePort()), '--json'], { cwd: createProject('counter') });
  const [line] = await running.prints(/^\{.*\}$/m);
  return JSON.parse(line);
}

/** The commands of a block, each with the lines that belong to it. */
function commandsOf(block: string): readonly string[] {
  return block.split(/\n(?=curl )/).filter((command) => command.startsWith('curl '));
}

/** The same value, without what differs from one session to the next. */
function withoutIds(value: unknown): unknown {
  const text = JSON.stringify(value, (key, member) => (key === 'created' ? 0 : member));
  return JSON.parse(text.replace(/(chatcmpl-|sess_)?[0-9a-f]{24,32}/g, '$1…'));
}
