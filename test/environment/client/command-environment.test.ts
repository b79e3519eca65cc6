import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCatalogue } from '../../../src/environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { until } from '../../until.ts';
import { connections, failureOf, fixture } from './harness.ts';
import { isRunning, processesNamed } from './processes.ts';

const script = fixture('faulty-server.mjs');
const marker = `marker-${process.pid}-${Date.now()}`;
// Hooks run in reverse: this one after the connections are closed.
afterEach(() => expect(processesNamed(marker)).toEqual([]));
const { connect, logs, messages } = connections();

function faulty(fault = 'none', more: { env?: Record<string, string>; command?: string } = {}): EnvironmentTarget {
  return { kind: 'command', command: process.execPath, args: [script, fault, marker], ...more };
}

describe('a command as an environment', () => {
  it('is started, says its name, version and protocol, and is gone after close', async () => {
    const client = await connect(faulty());
    expect(client).toMatchObject({ name: 'faulty', version: '1.2.3', protocol: '2025-11-25' });
    expect(processesNamed(marker)).toHaveLength(1);
    await client.close();
    expect(processesNamed(marker)).toEqual([]);
  });

  it('sees a harness with the key of its variable, and what the caller adds, in _meta of initialize alone', async () => {
    const client = await connect(faulty(), { meta: { display_width: 640 } });
    const meta = JSON.parse(client.instructions);
    expect(meta).toMatchObject({ display_width: 640, 'svc/audience': 'harness' });
    expect(meta['svc/harness_key']).toMatch(/^hk_[\w-]{43}$/);
    const { structured_content } = await client.call('echo', { by: 2 });
    expect(structured_content).toEqual({ args: { by: 2 }, _meta: { 'svc/audience': 'agent' } });
  });

  it('lists the tools of all pages in their order, as an agent, and those that match patterns', async () => {
    const client = await connect(faulty());
    const tools = await client.tools();
    expect(tools.map((tool) => tool.name)).toEqual(['first', 'second', 'last']);
    expect(tools[0]).toEqual({
      name: 'first',
      title: 'first',
      description: '',
      input_schema: { type: 'object' },
      output_schema: null,
      annotations: { readOnlyHint: true },
    });
    const matching = await client.tools({ patterns: ['*st', 'sec.nd'] });
    expect(matching.map((tool) => tool.name)).toEqual(['first', 'last']);
    expect(await client.tools({ patterns: [] })).toEqual([]);
  });

  it('whose tools cannot be listed has scenarios in a catalogue all the same, and is asked for its tools again', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'proctor-faulty-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const target = faulty('lists no tools at first', { env: { FIRST_FILE: join(directory, 'first') } });
    const catalogue = createCatalogue(new Map([['late', target]]));
    onTestFinished(() => catalogue.close());
    expect(await catalogue.scenarios('late')).toEqual([]);
    expect((await failureOf(catalogue.tools('late'))).boundary).toBe('environment');
    expect((await catalogue.tools('late')).map(({ name }) => name)).toEqual(['first', 'second', 'last']);
    await catalogue.close(); // Waits for the end of its processes, which the check after each test looks for.
  });

  it('that lists tools without end is a failure', async () => {
    const client = await connect(faulty('lists without end'));
    expect((await failureOf(client.tools())).message).toBe(
      'The environment "faulty" gave more than 100 pages of tools and did not end its list',
    );
  });

  it('hands on its log messages with their level, and progress to the call that asked', async () => {
    const client = await connect(faulty());
    const progress: unknown[] = [];
    await client.call('log', {}, { onProgress: (step) => progress.push(step) });
    expect(progress).toEqual([{ progress: 40, total: 100, message: null }]);
    expect(logs).toEqual([
      { level: 'debug', logger: 'environment', message: 'a debug' },
      { level: 'info', logger: 'environment', message: 'a notice' },
      { level: 'warning', logger: 'environment', message: 'a warning' },
      { level: 'error', logger: 'environment', message: '{"disk":"full"}' },
    ]);
  });
});

describe('a command that does not behave', () => {
  it('exits at start: the failure says its code and last words, without colours and key', async () => {
    const error = await failureOf(connect(faulty('exits at start')));
    expect(error).toMatchObject({ boundary: 'environment', code: 'environment_failed' });
    expect(error.message).toBe(
      'While connecting, the environment node exited with code 7. Its last lines on standard error:\n' +
        'cannot find the database, key [harness key]',
    );
    expect(messages()).toEqual(['cannot find the database, key [harness key]']);
  });

  it('does not exist: the failure says so', async () => {
    const error = await failureOf(connect(faulty('none', { command: '/nowhere/no-such-program' })));
    expect(error.message).toContain('the environment no-such-program could not be started (spawn');
    expect(error.message).toContain('ENOENT');
  });

  it('prints garbage on standard output: each line is a warning, and the protocol goes on', async () => {
    const client = await connect(faulty('prints garbage'));
    expect(await client.call('echo', {})).toMatchObject({ is_error: false });
    expect(logs.map(({ level, message }) => [level, message])).toEqual([
      ['warning', 'Not a message of the protocol, on its standard output: Loading the model...'],
      ['warning', 'Not a message of the protocol, on its standard output: {"half":'],
      ['warning', 'Not a message of the protocol, on its standard output: [1,2]'],
    ]);
  });

  it('hangs in initialize: the limit ends it', async () => {
    const error = await failureOf(connect(faulty('hangs in initialize'), { timeoutMs: 300 }));
    expect(error.message).toMatch(/^The environment node did not finish connecting within 300 ms\./);
    expect(processesNamed(marker)).toEqual([]);
  });

  it('is still connecting when the signal is aborted: the reason comes back and nothing is left', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const connecting = connect(faulty('hangs in initialize'), { signal: controller.signal });
    const rejection = expect(connecting).rejects.toBe(reason);
    await until(() => processesNamed(marker).length > 0);
    controller.abort(reason);
    await rejection;
    expect(processesNamed(marker)).toEqual([]);
    await expect(connect(faulty(), { signal: controller.signal })).rejects.toBe(reason);
    expect(processesNamed(marker)).toEqual([]);
  });

  it('exits during a call: the failure says its code and last words, without stack and folders', async () => {
    const client = await connect(faulty());
    const error = await failureOf(client.call('exit', {}));
    expect(error).toMatchObject({ boundary: 'tool', code: 'environment_failed' });
    expect(error.message).toBe(
      'While running the tool "exit", the environment "faulty" exited with code 3. ' +
        'Its last lines on standard error:\nError: out of memory',
    );
    const after = await failureOf(client.call('echo', {}));
    expect(after.message).toMatch(/^While running the tool "echo", the environment "faulty" exited with code 3\./);
  });

  it('is killed during a call: the failure names the signal', async () => {
    const client = await connect(faulty());
    const [pid] = processesNamed(marker);
    const call = failureOf(client.call('hang', {}));
    process.kill(pid as number, 'SIGKILL');
    expect((await call).message).toBe(
      'While running the tool "hang", the environment "faulty" was ended by the signal SIGKILL ' +
        'and wrote nothing to its standard error',
    );
  });

  it('closes its output and lives on: the call fails and the process is ended', async () => {
    const client = await connect(faulty());
    const error = await failureOf(client.call('close output', {}));
    expect(error.message).toContain('closed its end of the connection without exiting');
    await client.close();
    expect(processesNamed(marker)).toEqual([]);
  });

  it('writes more than fits: the last 2 KiB are told, cut at a line', async () => {
    const client = await connect(faulty('writes a lot'));
    await until(() => logs.length === 500);
    const { message } = await failureOf(client.call('exit', {}));
    const tail = message.slice(message.indexOf('\n') + 1);
    expect(tail).toMatch(/^line \d+ x+\n/);
    expect(tail).toMatch(/line 499 x+\nError: out of memory$/);
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(2048);
    expect(Buffer.byteLength(tail)).toBeGreaterThan(1900);
  });

  it('never returns from a tool: an abort rejects with its reason and cancels, a limit says what it was', async () => {
    const client = await connect(faulty());
    const controller = new AbortController();
    const reason = new Error('the client left');
    const call = client.call('hang', {}, { signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    const error = await failureOf(client.call('hang', {}, { timeoutMs: 50 }));
    expect(error.message).toBe('The environment "faulty" did not finish running the tool "hang" within 50 ms');
    await until(() => messages().filter((line) => line.startsWith('cancelled')).length === 2);
    expect(await client.call('echo', {})).toMatchObject({ is_error: false });
  });

  it('does not heed SIGTERM: it is killed after the grace', { timeout: 15_000 }, async () => {
    const client = await connect(faulty('ignores SIGTERM'));
    const pending = failureOf(client.call('hang', {}));
    const closing = client.close();
    expect((await pending).message).toBe(
      'The connection to the environment "faulty" was closed while running the tool "hang"',
    );
    await closing;
    expect(processesNamed(marker)).toEqual([]);
    expect(messages()).toContain('SIGTERM is ignored');
  });

  it('leaves a grandchild behind: it is ended with it, after close and after a crash', async () => {
    for (const end of ['close', 'crash']) {
      const client = await connect(faulty('has a grandchild'));
      await until(() => messages().some((line) => line.startsWith('grandchild')));
      const grandchild = Number(messages().pop()?.split(' ')[1]);
      expect(isRunning(grandchild)).toBe(true);
      if (end === 'close') await client.close();
      else await failureOf(client.call('exit', {}));
      await until(() => !isRunning(grandchild));
    }
  });
});

describe('answers of a command that are not those of an environment', () => {
  it('setup in another form says where it differs', async () => {
    const client = await connect(faulty());
    const error = await failureOf(client.setup('demo', {}));
    expect(error).toMatchObject({ boundary: 'setup', code: 'environment_failed' });
    expect(error.message).toContain('prompt: ');
  });

  it('one that is nested without measure is a failure, and the connection goes on', async () => {
    const client = await connect(faulty());
    const evaluation = await failureOf(client.evaluate('deep', ''));
    expect(evaluation.boundary).toBe('evaluate');
    expect(evaluation.message).toContain('with JSON nested more than');
    expect((await failureOf(client.call('tool', { name: 'deep' }))).boundary).toBe('tool');
    expect(await client.call('echo', {})).toMatchObject({ is_error: false });
  });

  it('an error of the hub is the failure of its half', async () => {
    const client = await connect(faulty());
    const error = await failureOf(client.evaluate('demo', ''));
    expect(error.boundary).toBe('evaluate');
    expect(error.message).toBe(
      'The environment "faulty" failed while evaluating the scenario "demo": no evaluation was given',
    );
  });

  it('a hub that does not exist says that there are no scenarios', async () => {
    const client = await connect(faulty());
    const error = await failureOf(client.solution('demo', {}, []));
    expect(error.message).toMatch(/^The environment "faulty" does not know the hub "solution"\. It has no scenarios/);
  });

  it('scenarios in another form are a failure, an empty list is none', async () => {
    expect(await (await connect(faulty())).scenarios()).toEqual([]);
    const error = await failureOf((await connect(faulty('prints garbage'))).scenarios());
    expect(error.message).toContain('answered reading its scenarios (svc://scenarios) with something else');
  });

  it('an unknown tool is told in the words of the server', async () => {
    const client = await connect(faulty());
    expect(await client.call('nope', {})).toEqual({
      content: [{ type: 'text', text: 'Unknown tool: nope' }],
      structured_content: null,
      is_error: true,
    });
  });

  it('an internal error is told without its cause, which is logged', async () => {
    const client = await connect(faulty());
    expect(await client.call('throw', {})).toEqual({
      content: [{ type: 'text', text: 'The tool "throw" failed' }],
      structured_content: null,
      is_error: true,
    });
    expect(logs).toEqual([
      { level: 'error', logger: 'environment', message: 'The tool "throw" failed: connect ECONNREFUSED 10.0.0.7' },
    ]);
    expect((await failureOf(client.call('refuse', {}))).message).toContain('the licence has expired');
  });
});

describe('the variables of a command', () => {
  it('are the few that every program needs, and its own', async () => {
    const secrets = ['PROCTOR_DATABASE_URL', 'OPENAI_API_KEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'PGPASSWORD'];
    for (const name of secrets) vi.stubEnv(name, 'secret of the service');
    vi.stubEnv('CLAUDE_KEY', 'secret of the service');
    vi.stubEnv('HTTPS_PROXY', 'http://user:needed@proxy.example');
    vi.stubEnv('LC_TIME', 'de_DE.UTF-8');
    const client = await connect(faulty('none', { env: { OWN_API_KEY: 'given', GITHUB_TOKEN: 'its own' } }));
    vi.unstubAllEnvs();
    const { structured_content: variables } = await client.call('variables', {});
    expect(variables).toMatchObject({
      OWN_API_KEY: 'given',
      GITHUB_TOKEN: 'its own',
      HTTPS_PROXY: 'http://user:needed@proxy.example',
      LC_TIME: 'de_DE.UTF-8',
    });
    expect(variables?.PATH).toBe(process.env.PATH);
    expect(JSON.stringify(variables)).not.toContain('secret of the service');
    expect(Object.keys(variables ?? {}).filter((name) => name.startsWith('PROCTOR_'))).toEqual([
      'PROCTOR_HARNESS_KEY',
      'PROCTOR_RUN',
    ]);
  });

  it('that its last words miss are named with the way to give them', async () => {
    vi.stubEnv('WEATHER_NOTE', 'a value that no message shows');
    const program = "console.error('WEATHER_NOTE is missing'); process.exit(3)";
    const failure = await failureOf(connect({ kind: 'command', command: process.execPath, args: ['-e', program] }));
    vi.unstubAllEnvs();
    expect(failure.message).toContain('Set here and not passed on: WEATHER_NOTE.');
    expect(failure.message).toContain('environments.<name>.env of proctor.config.ts, as { WEATHER_NOTE: process.env');
    expect(failure.message).not.toContain('a value that no message shows');
  });
});
