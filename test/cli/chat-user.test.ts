import { describe, expect, it } from 'vitest';
import { isRunning } from '../environment/client/processes.ts';
import { startGateway } from '../gateway.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';
import { environmentsOf } from './processes.ts';

const WATCH = ['chat', 'travel', 'passenger', '--arg', 'task=later-flight', '--user'];
const SCRIPT = ['--arg', 'user_script=["My flight is too early.","QK4TZ1, Aster."]'];

describe('proctor chat --user', PATIENCE, () => {
  it('shows user, agent and tools apart while they talk, and ends with the reward', async () => {
    const { code, stdout, stderr } = await proctor([...WATCH, ...SCRIPT], { cwd: createProject('travel') });
    expect([code, stdout]).toEqual([0, 'reward 1\n']);
    const said = stderr.split('\n').filter((line) => /^(user|agent| {2}\S)/.test(line));
    expect(said).toEqual([
      'user My flight is too early.',
      expect.stringMatching(/^ {2}find_booking \{"code":"QK4TZ1"/),
      expect.stringMatching(/^ {2}→ /),
      expect.stringMatching(/^ {2}list_flights /),
      expect.stringMatching(/^ {2}→ /),
      expect.stringMatching(/^ {2}change_flight /),
      expect.stringMatching(/^ {2}→ /),
      expect.stringMatching(/^agent The change costs 40 euros/),
      'user QK4TZ1, Aster.',
      expect.stringMatching(/^agent /),
      'user has nothing more to say',
    ]);
    // Its instructions are of the harness alone.
    expect(stderr).not.toContain('You are Ines Aster');
  });

  it('prints one object with --json, and says where nobody talked', async () => {
    const cwd = createProject('travel', 'counter');
    const [talked, silent] = await Promise.all([
      proctor([...WATCH, ...SCRIPT, '--json'], { cwd }),
      proctor(['chat', 'counter', 'count_to', '--arg', 'target=3', '--user'], { cwd }),
    ]);
    expect([talked.code, talked.stderr]).toEqual([0, '']);
    expect(JSON.parse(talked.stdout)).toMatchObject({ reward: 1, stop_reason: 'answered', replies: 2 });
    expect([silent.code, silent.stdout]).toEqual([0, 'reward 1\n']);
    expect(silent.stderr).toContain('the scenario count_to has no simulated user');
  });

  it('ends with 2 before anything runs where no model plays the user, and for its options without it', async () => {
    const cwd = createProject('travel');
    const [unplayed, alone] = await Promise.all([
      proctor(WATCH, { cwd }),
      proctor(['chat', 'travel', 'passenger', '--user-model', 'guest'], { cwd }),
    ]);
    expect([unplayed.code, unplayed.stderr]).toEqual([2, expect.stringContaining('models.user')]);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('belong to --user')]);
  });

  it('is cancelled by Ctrl-C in the turn of the user, and leaves no process', async () => {
    const gateway = await startGateway(() => {});
    const command = start([...WATCH, '--user-model', 'guest'], {
      cwd: createProject('travel'),
      env: { PROCTOR_GATEWAY_URL: gateway.url },
    });
    await gateway.asked;
    const children = environmentsOf(command.process.pid);
    expect(children.length).toBeGreaterThan(0);
    command.process.kill('SIGINT');
    const { code, stdout, stderr } = await command.ended;
    expect([code, stdout]).toEqual([1, 'no reward\n']);
    expect(stderr).toMatch(/^cancelled {2}http/m);
    expect(children.filter(isRunning)).toEqual([]);
  });
});
