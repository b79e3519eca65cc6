import { EnvironmentServer, serveMain } from 'proctor';
import { z } from 'zod';
import { CASES, FILES, REPAIRED } from './task.ts';
import { type CommandLimits, Workspace } from './workspace.ts';

const LIMITS: CommandLimits = { timeoutMs: 10_000, outputLength: 16_000 };

/** Called once for each session. Nothing happens here yet: the directory is made by the initialize hook. */
export function createEnvironment(limits: CommandLimits = LIMITS) {
  const workspace = new Workspace();
  // A command can do whatever this process can: operators are told.
  const env = new EnvironmentServer({ name: '__name__', version: '0.1.0', unsandboxed: true });
  env.initialize(() => workspace.open());
  env.close(() => workspace.close());

  const path = z.string().min(1).describe('A path in the working directory, such as src/index.js.');

  env.tool('list_files', { description: 'Lists every file of the working directory.' }, async () => ({
    files: await workspace.list(),
  }));

  env.tool('read_file', { description: 'Gives the text of a file.', args: { path } }, ({ path: file }) =>
    workspace.read(file),
  );

  env.tool(
    'write_file',
    {
      description: 'Writes a file, in place of the one that is there.',
      args: { path, content: z.string().max(1_000_000).describe('The whole text.') },
    },
    async ({ path: file, content }) => {
      await workspace.write(file, content);
      return `Wrote ${content.length} characters to ${file}.`;
    },
  );

  env.tool(
    'run_command',
    {
      description: `Runs a shell command in the working directory, for ${limits.timeoutMs / 1_000} s at most.`,
      args: { command: z.string().min(1).describe('For the shell.') },
    },
    ({ command }, { signal }) => workspace.run(command, limits, signal),
  );

  env.scenario(
    'repair',
    {
      description: 'Make a small program do what its README says.',
      // Times and process numbers differ between two runs of a command.
      volatile: ['run_command'],
      // What an evaluation plays: npx proctor eval __name__. Agents cannot see it.
      tasks: [{ id: 'slug', tags: ['strings'] }],
      solution: () => ({
        calls: [
          { name: 'write_file', arguments: { path: 'slug.js', content: REPAIRED } },
          { name: 'run_command', arguments: { command: 'node --test' } },
        ],
        answer: 'slug.js does what the README says.',
      }),
    },
    async function* (_, { signal }) {
      await workspace.reset(FILES);
      yield 'slug.js does not do what README.md says. Repair it, so that it does for every text, and say what was wrong.';
      const given = await workspace.run(toProbe(CASES.map(([text]) => text)), limits, signal);
      const results = readResults(given.output);
      const failed = CASES.filter(([, slug], index) => results[index] !== slug).map(([text]) => text);
      return {
        // All or nothing: half a repair breaks the other half of the addresses.
        reward: failed.length === 0 ? 1 : 0,
        content: `${CASES.length - failed.length} of ${CASES.length} texts are right.`,
        info: { failed },
      };
    },
  );

  return env;
}

/** A command that applies the program to texts, and prints what it makes of them as the last line. */
function toProbe(texts: readonly string[]): string {
  const script = `
    const { slug } = await import(process.cwd() + '/slug.js');
    console.log('\\n' + JSON.stringify(${JSON.stringify(texts)}.map((text) => slug(text))));`;
  return `node --input-type=module --eval '${script.replaceAll("'", "'\\''")}'`;
}

function readResults(output: string): readonly unknown[] {
  try {
    const results: unknown = JSON.parse(output.trim().split('\n').at(-1) ?? '');
    return Array.isArray(results) ? results : [];
  } catch {
    return []; // The program does not load, or says something of its own.
  }
}

export default function environment() {
  return createEnvironment();
}

serveMain(import.meta, environment);
