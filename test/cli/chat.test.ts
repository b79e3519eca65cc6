import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isRunning } from '../environment/client/processes.ts';
import { createProject, type Ended, PATIENCE, proctor, shellLine, start } from './command.ts';
import { environmentsOf } from './processes.ts';

const CHAT = ['chat', 'counter', 'count_to', '--arg', 'target=3'];

/** That of util-linux: others take other options. */
const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
if (!hasTerminal) console.warn('proctor chat is not tried in a terminal: there is no `script` of util-linux.');

/** Runs `proctor chat` with these lines on its standard input, which ends after them. */
async function chat(args: readonly string[], lines: string, cwd = createProject('counter')): Promise<Ended> {
  const command = start(args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  command.process.stdin?.end(lines);
  return await command.ended;
}

describe('proctor chat', PATIENCE, () => {
  it('plays the prompt, shows tools and text, takes each line of a pipe as a turn, and prints reward and trace', async () => {
    const { code, stdout, stderr } = await chat(CHAT, 'And again.\n\n/finish\n');
    expect([code, stdout]).toEqual([0, 'reward 1\n']);
    expect(stderr).toContain('prompt Make the counter show exactly 3');
    expect(stderr).toMatch(/increment {"by":3}\n {2}→ 3\nproctor\/oracle The counter shows 3\./);
    expect(stderr).toContain('you And again.');
    expect(stderr).toMatch(
      /http:\/\/127\.0\.0\.1:8320\/traces\/([0-9a-f]{32})\nTo see what happened: .*npx proctor open \1\n$/,
    );
    expect(stderr).not.toContain('\u001b');
  });

  it('the end of the input finishes; --json prints one object alone', async () => {
    const { code, stdout, stderr } = await chat([...CHAT, '--json'], '');
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      reward: 1,
      status: 'finished',
      answer: 'The counter shows 3.',
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it('/quit abandons: exit code 1, no reward', async () => {
    const { code, stdout, stderr } = await chat(CHAT, '/quit\nnever said\n');
    expect([code, stdout]).toEqual([1, 'no reward\n']);
    expect(stderr).toContain('abandoned');
    expect(stderr).not.toContain('never said');
  });

  it('a command that does not exist is not for the model, and two slashes send one', async () => {
    const { code, stdout, stderr } = await chat(CHAT, '/fnish It is 3.\n/etc/hosts is a file\n//help me\n/finish\n');
    expect([code, stdout]).toEqual([0, 'reward 1\n']);
    expect(stderr).toMatch(/There is no \/fnish\. \/finish \[answer\] .*\/quit .*\/\/fnish sends it/);
    expect([...stderr.matchAll(/^you (.*)$/gm)].map(([, said]) => said)).toEqual(['/etc/hosts is a file', '/help me']);
  });

  it('/finish with an answer submits that', async () => {
    const { code, stdout } = await chat([...CHAT, '--json'], '/finish It shows three, I think.\n');
    expect([code, JSON.parse(stdout).answer]).toEqual([0, 'It shows three, I think.']);
  });

  it('ends with 2 before anything runs where the command is wrong', async () => {
    const cwd = createProject('counter');
    const rows: readonly (readonly [readonly string[], RegExp])[] = [
      [['chat', 'counter', 'nope'], /no scenario "nope".*count_to/],
      [['chat', 'counter', 'count_to'], /scenario_args\.target is required/],
      [[...CHAT, '--model', 'gpt-5'], /PROCTOR_GATEWAY_URL/],
    ];
    for (const [args, message] of rows) {
      const { code, stdout, stderr } = await proctor(args, { cwd });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr.replaceAll('\n', ' ')).toMatch(message);
    }
  });

  it.runIf(hasTerminal)('in a terminal, Ctrl-C in the first turn ends it, without a hint at turns', async () => {
    const cwd = createProject('counter');
    const line = shellLine(['chat', 'counter', 'slow_count', '--args', '{"target":1,"delay_ms":60000}']);
    const terminal = spawn('script', ['-qec', line, '/dev/null'], { cwd });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    let shown = '';
    let hasPressed = false;
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      // Seconds are counted while the tool runs.
      if (hasPressed || !shown.includes('running… 1 s')) return;
      hasPressed = true;
      terminal.stdin.write('\u0003');
    });
    await once(terminal, 'close');
    expect(shown).toMatch(/Stopped\. .* is closed\.[\s\S]*no reward/);
    expect(shown).not.toContain('Each line is a turn');
  });

  it('Ctrl-C stops the turn that runs; SIGTERM abandons; no process is left', async () => {
    const cwd = createProject('counter');
    const slow = ['chat', 'counter', 'slow_count', '--args', '{"target":1,"delay_ms":60000}'];
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const command = start(slow, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
      await command.prints(/slow_increment/);
      const children = environmentsOf(command.process.pid);
      expect(children.length).toBeGreaterThan(0);
      command.process.kill(signal);
      const { code, stdout, stderr } = await command.ended;
      expect([code, stdout]).toEqual([1, 'no reward\n']);
      expect(stderr).toContain('Stopped.');
      expect(children.filter(isRunning)).toEqual([]);
    }
  });
});
