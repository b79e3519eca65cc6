import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STDIO, type StartedServer, startServer } from './servers.ts';

const bin = (name: string) => fileURLToPath(new URL(`../referees/node_modules/.bin/${name}`, import.meta.url));
let server: StartedServer;

beforeAll(async () => {
  // Not skipped: without its referees the matrix would be green and prove nothing.
  if (!existsSync(bin('mcp-inspector')) || !existsSync(bin('node'))) {
    throw new Error('The MCP Inspector is not installed: run "npm run referees"');
  }
  server = await startServer('sse');
});
afterAll(() => server?.stop());

/** What its command line prints, as JSON. */
async function inspect(target: readonly string[], method: string, options: readonly string[] = []): Promise<unknown> {
  const args = [bin('mcp-inspector'), '--cli', ...target, '--method', method, ...options, '--format', 'json'];
  const { stdout } = await promisify(execFile)(bin('node'), args, { timeout: 60_000 });
  return JSON.parse(stdout);
}

describe('the command line of the MCP Inspector', () => {
  const cases: readonly (readonly [string, () => readonly string[]])[] = [
    ['stdio', () => [STDIO.command, ...STDIO.args]],
    ['stdio, 2026-07-28', () => ['--protocol-era', 'modern', STDIO.command, ...STDIO.args]],
    ['Streamable HTTP', () => ['--transport', 'http', server.url.replace('/sse', '/mcp')]],
    [
      'Streamable HTTP, 2026-07-28',
      () => ['--transport', 'http', '--protocol-era', 'modern', server.url.replace('/sse', '/mcp')],
    ],
    ['HTTP+SSE', () => ['--transport', 'sse', server.url]],
  ];

  it.each(cases)('uses an environment over %s', { timeout: 120_000 }, async (_transport, target) => {
    const [tools, called, read, prompted] = await Promise.all([
      inspect(target(), 'tools/list'),
      inspect(target(), 'tools/call', ['--tool-name', 'increment', '--tool-arg', 'by=0']),
      inspect(target(), 'resources/read', ['--uri', 'svc://scenarios']),
      inspect(target(), 'prompts/get', ['--prompt-name', 'count_to', '--prompt-args', 'target=3']),
    ]);
    const names = (tools as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);
    expect(names).toEqual(['increment', 'read', 'slow_increment', 'steps', 'next']);
    expect(called).toMatchObject({ result: { content: [{ type: 'text', text: '0' }] } });
    expect(JSON.stringify(read)).toContain('counter:count_to');
    expect(JSON.stringify(prompted)).toContain('exactly 3');
  });
});
