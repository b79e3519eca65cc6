import { join } from 'node:path';
import { openEnvironment } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import Lighthouse from '../../docs/examples/lighthouse-class.ts';
import { PATIENCE } from '../cli/command.ts';
import { Child } from '../environment/server/child.ts';
import { connect, textOf } from '../environment/server/clients.ts';
import { until } from '../until.ts';
import { ROOT } from './documents.ts';

const PROGRAM = join(ROOT, 'docs/examples/lighthouse.ts');

/** The lighthouse as any MCP client starts it. What it prints is on standard error. */
const light = () => new Child(['--import', 'tsx', PROGRAM]);
const printed = (child: Child) => child.stderr.trim().split('\n').filter(Boolean);

describe('the lighthouse', PATIENCE, () => {
  it('is lit inside of initialize, with progress, and in the size that the client says', async () => {
    const child = light();
    let answers = '';
    child.process.stdout?.on('data', (text: Buffer) => {
      answers += text;
    });
    const meta = { display_width: 800, display_height: 600 };
    const client = await connect(child, { meta, onprogress: () => {} });
    // As they came: a client of the SDK drops what it has not yet told when the reply arrives.
    expect(answers).toMatch(/Climbing the stairs\..*The lamp burns\..*"serverInfo"/s);
    await until(() => child.stderr.includes('\n'));
    expect(printed(child)).toEqual(['initialize 800 x 600']);
    expect(textOf(await client.callTool({ name: 'look' }))).toBe('A light of 800 x 600.');
    expect(child.garbage).toEqual([]);
  });

  it('is lit on 2026-07-28 before the first request that needs it, and not by a list', async () => {
    const client = await connect(light(), { mode: 'modern' });
    const sized = (display_width: number) => ({ _meta: { display_width, display_height: 600 } });
    const look = async (width: number) => textOf(await client.callTool({ name: 'look', ...sized(width) }));
    await client.listTools(sized(100));
    expect(await look(800)).toBe('A light of 800 x 600.');
    expect(await look(300)).toBe('A light of 800 x 600.');
  });

  it('on SIGTERM ends its sessions, then runs the shutdown hooks, the last first, and exits with 0', async () => {
    const child = light();
    await connect(child);
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(printed(child)).toEqual([
      'initialize 1920 x 1080',
      'close',
      'shutdown, declared last',
      'shutdown, first declared',
    ]);
  });

  it('when its client goes away runs the close hooks alone, and exits with 0', async () => {
    const child = light();
    await connect(child);
    child.process.stdin?.end();
    expect(await child.exited).toBe(0);
    expect(printed(child)).toEqual(['initialize 1920 x 1080', 'close']);
  });

  it('on Ctrl-C runs no shutdown hook', async () => {
    const child = light();
    await connect(child);
    child.process.kill('SIGINT');
    expect(await child.exited).toBe('SIGINT');
    expect(printed(child)).not.toContain('shutdown, declared last');
  });
});

it('a class declares its hooks with decorators', async () => {
  await using env = await openEnvironment(Lighthouse, { meta: { display_width: 640, display_height: 480 } });
  expect((await env.agent.call('look')).text).toBe('A light of 640 x 480.');
});
