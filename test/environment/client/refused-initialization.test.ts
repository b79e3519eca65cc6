import { afterEach, describe, expect, it } from 'vitest';
import { describeOutcome } from '../../../src/cli/play/run-view.ts';
import { EnvironmentServer } from '../../../src/environment/authoring/environment-server.ts';
import { ToolError } from '../../../src/environment/authoring/tool-result.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { connections, failureOf, fixture } from './harness.ts';
import { processesNamed } from './processes.ts';

const path = fixture('refusing/environment.ts');

afterEach(() => expect(processesNamed(path)).toEqual([]));
const { connect } = connections();

describe('an environment that cannot be initialized', () => {
  it('says why to the harness in the words of the ToolError that its hook threw', async () => {
    const { boundary, message } = await failureOf(connect({ kind: 'module', path, env: { REFUSAL: 'told' } }));
    expect(boundary).toBe('environment');
    expect(message).toBe(
      'The environment refusing/environment.ts failed while connecting: The environment could not be initialized: ' +
        'Start the database first: npm run database',
    );
  });

  it('otherwise by the last lines of its log, at most 20 and without a stack', async () => {
    const { message } = await failureOf(connect({ kind: 'module', path }));
    const [head = '', lastWords = ''] = message.split('The last lines of its log:\n');
    expect(head).toMatch(/^The environment refusing\/environment\.ts failed while connecting: The environment could/);
    expect(lastWords).toMatch(
      /The initialize hook failed at test\/environment\/client\/fixtures\/refusing\/environment\.ts:\d+:\d+: Error: the database does not answer/,
    );
    expect(lastWords).toContain('port 5432 is closed');
    expect(lastWords.split('\n').length).toBeLessThanOrEqual(20);
    expect(lastWords).not.toMatch(/^line 1$|^\s+at /m);
  });

  it('in memory says the same', async () => {
    const refusing = (error: Error) => () =>
      new EnvironmentServer({ name: 'r' }).initialize(() => {
        throw error;
      });
    const untold = await failureOf(connect(inMemory(refusing(new Error('no disk')))));
    expect(untold.message).toMatch(/could not be initialized[\s\S]*The last lines of its log:\n.*no disk/);
    const told = await failureOf(connect(inMemory(refusing(new ToolError('Mount a disk')))));
    expect(told.message).toMatch(/could not be initialized: Mount a disk$/);
  });

  it('is shown whole on the command line: the way out stands at the end', async () => {
    const message = `${'why '.repeat(500)}\ninstall it`;
    const error = { boundary: 'environment', code: 'environment_failed', message } as const;
    const shown = describeOutcome({ status: 'failed', stop_reason: 'error', reward: null, error });
    expect(shown).toContain(message);
  });
});
