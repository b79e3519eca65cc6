import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isRunning } from '../environment/client/processes.ts';
import { createLab, type Project, SOURCE } from '../environment/dev/project.ts';
import { type ConnectOptions, connect, HARNESS, httpTransport, textOf } from '../environment/server/clients.ts';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';
import { COMMAND, createProject, PATIENCE, proctor, start } from './command.ts';
import { environmentsOf } from './processes.ts';

/** As the configuration of an IDE starts it. */
async function connectStdio({ directory }: Project, options: ConnectOptions = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [COMMAND, 'dev', 'lab', '--transport', 'stdio'],
    cwd: directory,
    env: { PATH: process.env.PATH ?? '' },
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const client = await connect(transport, options);
  const broken: Error[] = [];
  client.onerror = (error) => broken.push(error);
  const changed: string[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', () => void changed.push('tools'));
  const pid = transport.pid ?? 0;
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  return { client, pid, broken, changed, stderr: () => stderr };
}

const pidOf = async (client: Awaited<ReturnType<typeof connect>>) =>
  Number(textOf(await client.callTool({ name: 'pid' })));

describe('proctor dev over stdio', PATIENCE, () => {
  it.each(['legacy', 'modern'] as const)('reloads under a %s client, and leaves no process behind', async (mode) => {
    const lab = createLab();
    const { client, pid, changed, broken, stderr } = await connectStdio(lab, { mode, meta: HARNESS });
    if (mode === 'modern') await client.listen({ toolsListChanged: true });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('setup');
    const first = await pidOf(client);
    lab.change("'v1'", "'v2'");
    await until(() => changed.length === 1);
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v2');
    lab.change("'v1'", "'v3'");
    await until(() => changed.length === 2);
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v3');
    const last = await pidOf(client);
    const children = environmentsOf(pid);
    await client.close();
    await until(() => ![pid, first, last, ...children].some(isRunning));
    await until(() => stderr().includes('close hook'));
    expect(stderr()).not.toContain('shutdown hook');
    expect(stderr()).not.toContain('Harness key');
    expect(broken).toEqual([]);
  });

  it('answers a client that was there before the environment could be started', async () => {
    const lab = createLab(SOURCE.replace("() => 'v1'", "() => = 'v1'"));
    const connecting = connectStdio(lab);
    lab.write('environment.ts', SOURCE);
    const { client } = await connecting;
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v1');
  });

  it('runs shutdown hooks on SIGTERM, once, and ends with 0', async () => {
    const lab = createLab();
    const { client, pid, stderr } = await connectStdio(lab);
    const child = await pidOf(client);
    process.kill(pid, 'SIGTERM');
    await until(() => !isRunning(pid) && !isRunning(child));
    // What it said last may be read a moment after it has ended.
    await until(() => stderr().includes('shutdown hook') && stderr().includes('close hook'));
    expect(stderr().match(/shutdown hook/g)).toHaveLength(1);
  });

  it('kills a process whose event loop is blocked, within the budget', async () => {
    const lab = createLab();
    const { client, pid, stderr } = await connectStdio(lab);
    const child = await pidOf(client);
    client.callTool({ name: 'block' }).catch(() => {});
    await until(() => stderr().includes('blocking'));
    process.kill(pid, 'SIGTERM');
    await until(() => !isRunning(pid) && !isRunning(child));
  });

  it('takes its processes with it when it is killed: they see the end of their input', async () => {
    const lab = createLab();
    const { client, pid } = await connectStdio(lab);
    lab.change("'v1'", "'v2'");
    await until(() => environmentsOf(pid).length >= 2);
    const children = [await pidOf(client), ...environmentsOf(pid)];
    process.kill(pid, 'SIGKILL');
    await until(() => !children.some(isRunning));
  });
});

describe('proctor dev over http', PATIENCE, () => {
  it('prints address and key, serves sessions of their own, and runs their shutdown hooks on SIGTERM', async () => {
    const lab = createLab();
    const port = String(await freePort());
    const command = start(['dev', 'lab', '--port', port], { cwd: lab.directory });
    const [, key = ''] = await command.prints(/Harness key: ([\w-]{43})/);
    const [, url = ''] = await command.prints(/(http:\/\/127\.0\.0\.1:\d+\/mcp)/);
    const harness = await connect(httpTransport(url), { meta: { ...HARNESS, 'svc/harness_key': key } });
    const agent = await connect(httpTransport(url));
    expect((await harness.listTools()).tools.map(({ name }) => name)).toContain('setup');
    expect((await agent.listTools()).tools.map(({ name }) => name)).not.toContain('setup');
    expect(textOf(await harness.callTool({ name: 'count' }))).toBe('1');
    expect(textOf(await agent.callTool({ name: 'count' }))).toBe('1');
    lab.change("'v1'", "'v2'");
    await command.prints(/Reloaded in \d+ ms: environments\/lab\/environment\.ts\./);
    await command.prints(/2 sessions each lost what the fields/);
    for (const client of [harness, agent]) expect(textOf(await client.callTool({ name: 'version' }))).toBe('v2');
    const children = environmentsOf(command.process.pid);
    command.process.kill('SIGTERM');
    const { code, stdout, stderr } = await command.ended;
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr.match(/shutdown hook/g)).toHaveLength(2);
    await until(() => !children.some(isRunning));
  });

  it('ends on SIGINT without shutdown hooks, and takes the key of PROCTOR_HARNESS_KEY without printing it', async () => {
    const lab = createLab();
    const command = start(['dev', 'lab', '--port', String(await freePort())], {
      cwd: lab.directory,
      env: { PROCTOR_HARNESS_KEY: 'a-key-of-my-own' },
    });
    const [, url = ''] = await command.prints(/(http:\S+\/mcp)/);
    const client = await connect(httpTransport(url));
    const child = await pidOf(client);
    command.process.kill('SIGINT');
    const { code, stderr } = await command.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('close hook');
    expect(stderr).not.toMatch(/shutdown hook|a-key-of-my-own|Harness key/);
    await until(() => !isRunning(child));
  });
});

describe('a wrong proctor dev', PATIENCE, () => {
  it.each([
    [['nope'], 2, /no environment "nope"/],
    [['counter', '--transport', 'carrier-pigeon'], 2, /Allowed choices are http, stdio/],
    [['https://desk.example/mcp'], 2, /not a module/],
  ])('%j ends with %i and says what is wrong', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await proctor(['dev', ...args], { cwd: createProject('counter') });
    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toMatch(message);
  });

  it('on a port in use ends with 1 and leaves no process', async () => {
    const lab = createLab();
    const port = String(await freePort());
    const first = start(['dev', 'lab', '--port', port], { cwd: lab.directory });
    await first.prints(/Serving/);
    const { code, stderr } = await proctor(['dev', 'lab', '--port', port], { cwd: lab.directory });
    expect([code, stderr]).toEqual([1, expect.stringContaining(port)]);
  });
});
