import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isRunning } from '../environment/client/processes.ts';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';
import { COMMAND, createProject, PATIENCE, proctor, start } from './command.ts';
import { environmentsOf } from './processes.ts';

async function connect(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'ide', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** As the configuration of an IDE starts it. */
async function connectStdio(cwd: string, environment: string, env: Record<string, string> = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [COMMAND, 'mcp', environment],
    cwd,
    env: { PATH: process.env.PATH ?? '', ...env },
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const broken: Error[] = [];
  const client = await connect(transport);
  client.onerror = (error) => broken.push(error);
  return { client, pid: transport.pid ?? 0, broken, stderr: () => stderr };
}

describe('proctor mcp over stdio', PATIENCE, () => {
  it('serves the environment to an MCP client: tools and prompts, nothing of the harness', async () => {
    const { client, pid } = await connectStdio(createProject('counter'), 'counter');
    expect(client.getServerVersion()).toMatchObject({ name: 'counter', version: '1.0.0' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['increment', 'read', 'slow_increment']);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['count_to', 'slow_count']);
    expect(await client.callTool({ name: 'increment', arguments: { by: 5 } })).toMatchObject({
      content: [{ type: 'text', text: '5' }],
    });
    await expect(client.callTool({ name: 'setup', arguments: { name: 'count_to' } })).rejects.toThrow(/setup/);
    const children = environmentsOf(pid);
    await client.close();
    await until(() => !isRunning(pid) && !children.some(isRunning));
  });

  it('keeps whatever the environment prints off the protocol, and its own keys off the environment', async () => {
    const env = { PROCTOR_TRANSPORT: 'http', PROCTOR_API_KEY: 'pk_secret', PROCTOR_GATEWAY_API_KEY: 'sk-secret' };
    const { client, broken, stderr } = await connectStdio(createProject('probe'), 'probe', env);
    expect(await client.callTool({ name: 'shout' })).toMatchObject({ content: [{ text: 'shouted' }] });
    expect(await client.callTool({ name: 'key' })).toMatchObject({ content: [{ text: '[]' }] });
    await until(() => stderr().includes('noise on descriptor 1'));
    expect(stderr()).toContain('noise from the initialize hook');
    expect(stderr()).toContain('noise from a tool');
    expect(broken).toEqual([]);
  });

  it('passes SIGTERM on, so that the shutdown hooks run, and ends with 0', async () => {
    const command = start(['mcp', 'probe'], { cwd: createProject('probe'), stdio: ['pipe', 'pipe', 'pipe'] });
    await until(() => environmentsOf(command.process.pid).length === 1);
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'ide', version: '1' } };
    command.process.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })}\n`);
    await command.prints(/"serverInfo"/);
    command.process.kill('SIGTERM');
    const { code, signal, stderr } = await command.ended;
    expect([code, signal, stderr]).toEqual([0, null, expect.stringContaining('the shutdown hook ran')]);
  });

  it('kills an environment whose event loop is blocked when its budget is over, and says so', async () => {
    const { client, pid, stderr } = await connectStdio(createProject('probe'), 'probe');
    const call = client.callTool({ name: 'block' }).catch((error: unknown) => error);
    await until(() => stderr().includes('blocking'));
    const children = environmentsOf(pid);
    expect(children).toHaveLength(1);
    process.kill(pid, 'SIGTERM');
    await until(() => !isRunning(pid));
    expect(children.filter(isRunning)).toEqual([]);
    await until(() => stderr().includes('was killed'));
    expect(await call).toBeInstanceOf(Error);
  });
});

describe('proctor mcp over http', PATIENCE, () => {
  it('serves many clients at an address, prints it with a harness key, and ends with 0 on SIGTERM', async () => {
    const port = await freePort();
    const args = ['mcp', 'probe', '--transport', 'http', '--port', String(port)];
    const command = start(args, { cwd: createProject('probe') });
    const [, url = ''] = await command.prints(/(http:\/\/127\.0\.0\.1:\d+\/mcp)/);
    expect(new URL(url).port).toBe(String(port));
    await command.prints(/Harness key: [\w-]{43}/);
    for (const _ of [1, 2]) {
      const client = await connect(new StreamableHTTPClientTransport(new URL(url)) as Transport);
      expect(await client.callTool({ name: 'key' })).toMatchObject({ content: [{ text: '[]' }] });
    }
    command.process.kill('SIGTERM');
    const { code, stdout, stderr } = await command.ended;
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('the shutdown hook ran');
  });

  it('takes the harness key of PROCTOR_HARNESS_KEY and does not print it', async () => {
    const port = await freePort();
    const command = start(['mcp', 'probe', '--transport', 'http', '--port', String(port)], {
      cwd: createProject('probe'),
      env: { PROCTOR_HARNESS_KEY: 'a-key-of-my-own' },
    });
    await command.prints(/\/mcp/);
    command.process.kill('SIGTERM');
    const { stderr } = await command.ended;
    expect(stderr).not.toContain('a-key-of-my-own');
    expect(stderr).not.toContain('Harness key');
  });
});

describe('a wrong proctor mcp', PATIENCE, () => {
  it.each([
    [['nope'], 2, /no environment "nope"/],
    [['counter', '--transport', 'carrier-pigeon'], 2, /Allowed choices are stdio, http/],
    [['https://desk.example/mcp'], 2, /not a module/],
  ])('%j ends with %i and says what is wrong', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await proctor(['mcp', ...args], { cwd: createProject('counter') });
    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toMatch(message);
  });
});
