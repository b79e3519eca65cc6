import { cpSync, mkdirSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface Image {
  /** The working directory of the last stage. */
  readonly directory: string;
  readonly entrypoint: readonly string[];
}

interface Stage {
  readonly root: string;
  directory: string;
}

/**
 * Does the steps of a Dockerfile in empty folders: what they copy comes out of the build context alone. Left out is what
 * needs the image of a system: its packages and users.
 *
 * @param parent where the folders are made. Whoever gives it removes it.
 * @param run runs a shell command in a directory, and throws when it fails.
 */
export async function playDockerfile(
  text: string,
  context: string,
  parent: string,
  run: (command: string, directory: string) => Promise<void>,
): Promise<Image> {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  let entrypoint: readonly string[] = [];
  for (const [name, rest] of instructionsOf(text)) {
    if (name === 'FROM') {
      const root = mkdtempSync(join(parent, 'stage-'));
      stage = { root, directory: root };
      stages.set(/ AS (\S+)$/.exec(rest)?.[1] ?? '', stage);
    }
    if (stage === undefined) throw new Error(`${name} before FROM`);
    if (name === 'WORKDIR') {
      stage.directory = join(stage.root, rest);
      mkdirSync(stage.directory, { recursive: true });
    }
    if (name === 'COPY') copy(rest, context, stages, stage);
    if (name === 'RUN' && rest.startsWith('npm ')) await run(rest, stage.directory);
    if (name === 'ENTRYPOINT') entrypoint = JSON.parse(rest);
  }
  return { directory: stage?.directory ?? '', entrypoint };
}

function instructionsOf(text: string): readonly (readonly [string, string])[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines.flatMap((line) => {
    const [, name, rest] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [[name, rest] as const];
  });
}

/** As Docker does it: of a folder its content, into a folder of the target's name; it fails where no source is there. */
function copy(rest: string, context: string, stages: ReadonlyMap<string, Stage>, stage: Stage): void {
  const [, from] = /^--from=(\S+) /.exec(rest) ?? [];
  const words = rest.split(' ').filter((word) => !word.startsWith('--'));
  const target = words.pop() ?? '';
  const base = from === undefined ? context : stages.get(from)?.root;
  if (base === undefined) throw new Error(`There is no stage "${from}"`);
  const found = words.flatMap((pattern) => matching(base, pattern));
  if (found.length === 0) throw new Error(`COPY ${rest}: there is no such file`);
  for (const path of found) {
    const isInto = target.endsWith('/') && !statSync(path).isDirectory();
    cpSync(path, join(stage.directory, target, isInto ? basename(path) : ''), {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
}

/** One without a wildcard has to be there. */
function matching(base: string, pattern: string): readonly string[] {
  if (!pattern.includes('*')) return [join(base, pattern)];
  const name = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  return readdirSync(base)
    .filter((entry) => name.test(entry))
    .map((entry) => join(base, entry));
}
