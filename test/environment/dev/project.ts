import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What the tests change: `v1` is the answer of the tool `version`. */
export const SOURCE = `import { existsSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { EnvironmentServer, Hub } from 'proctor';
import { z } from 'zod';
import { LABEL } from './label.ts';

const say = (text: string) => console.error(text);

export default function lab() {
  const env = new EnvironmentServer({ name: 'lab', version: '1.0.0' });
  let count = 0;
  let display = 'none';
  env.initialize(({ meta }) => {
    display = meta.display_width + 'x' + meta.display_height;
    say('initialize hook ' + display);
  });
  env.close(() => say('close hook'));
  env.shutdown(() => say('shutdown hook'));
  env.tool('version', {}, () => 'v1');
  env.tool('label', {}, () => LABEL);
  env.tool('display', {}, () => display);
  env.tool('count', {}, () => ++count);
  env.tool('pid', {}, () => process.pid);
  env.tool('stay', {}, () => {
    say('staying');
    return new Promise<void>(() => {});
  });
  env.tool('wait_for', { args: { path: z.string() } }, async ({ path }) => {
    say('waiting');
    while (!existsSync(path)) await delay(5);
    return 'it is there';
  });
  env.tool('ask', {}, async (_args, { elicit }) => {
    const requestedSchema = { type: 'object', properties: { ok: { type: 'boolean' } } };
    return (await elicit({ message: 'from v1', requestedSchema })).action;
  });
  env.tool('log', {}, (_args, { log }) => log.debug('a debug line'));
  env.tool('steps', {}, (_args, { progress }) => progress(50));
  env.tool('grow', {}, () => {
    env.tool('grown', {}, () => 'new');
  });
  env.resource('lab://note', {}, () => 'a note');
  env.tool('touch', {}, () => env.notifyResourceUpdated('lab://note'));
  env.tool('hide', {}, () => {
    env.mount(new Hub('vault', { audience: 'harness' }).tool('open', {}, () => 'gold'));
  });
  env.tool('crash', {}, () => process.exit(3));
  env.tool('block', {}, () => {
    writeSync(2, 'blocking\\n');
    for (;;);
  });
  env.scenario('exam', {}, async function* () {
    yield 'Answer.';
    return 1;
  });
  return env;
}
`;

export interface Project {
  readonly directory: string;
  /** Of the module. */
  readonly path: string;
  /** Writes a file beside the module. */
  write(name: string, text: string): void;
  /** Writes the module with some of its text changed. */
  change(from: string, to: string): void;
  /** As editors do that write another file and put it in the place of the old one. */
  replace(from: string, to: string): void;
}

/** A working directory with one environment, `lab`, until the test ends. */
export function createLab(source: string = SOURCE): Project {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'proctor-dev-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  const path = join(directory, 'environments', 'lab', 'environment.ts');
  mkdirSync(dirname(path), { recursive: true });
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(ROOT, join(directory, 'node_modules', 'proctor'));
  symlinkSync(join(ROOT, 'node_modules', 'zod'), join(directory, 'node_modules', 'zod'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  const write = (name: string, text: string) => writeFileSync(join(dirname(path), name), text);
  write('label.ts', "export const LABEL = 'first';\n");
  write('environment.ts', source);
  return {
    directory,
    path,
    write,
    change: (from, to) => write('environment.ts', SOURCE.replaceAll(from, to)),
    replace(from, to) {
      write('environment.ts.tmp', SOURCE.replaceAll(from, to));
      renameSync(`${path}.tmp`, path);
    },
  };
}
