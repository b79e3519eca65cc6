import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Beside `dist/` in the package, beside `src/` in a checkout. */
const ROOT = fileURLToPath(new URL('../../templates/', import.meta.url));

/** npm leaves files of this name out of a package, and obeys them while it packs: it travels without the dot. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

const packageSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

export interface TemplateValues {
  /** In place of `__name__`, in texts and in paths. */
  readonly name: string;
  /** In place of `__proctor__`: what npm is to install as proctor. */
  readonly proctor: string;
}

/** The packages that a project made from a template installs. */
export function readTemplateDependencies(template: string): readonly string[] {
  const { dependencies, devDependencies } = packageSchema.parse(
    JSON.parse(readFileSync(join(ROOT, template, 'package.json'), 'utf8')),
  );
  return Object.keys({ ...dependencies, ...devDependencies });
}

/**
 * Copies a template into a folder, which is made where it does not exist, and fills in its values.
 *
 * @returns the files that were written, relative to the folder and sorted.
 * @throws Error of the file system, and for a file that exists: nothing is ever overwritten.
 */
export function copyTemplate(template: string, directory: string, values: TemplateValues): readonly string[] {
  const source = join(ROOT, template);
  const paths = readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(source.length + 1));
  const written = paths.map((path) => {
    const target = fill(join(dirname(path), toFileName(path)), values);
    mkdirSync(dirname(join(directory, target)), { recursive: true });
    writeFileSync(join(directory, target), fill(readFileSync(join(source, path), 'utf8'), values), { flag: 'wx' });
    return target;
  });
  return written.sort();
}

function toFileName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return RENAMED[name] ?? name;
}

/** The second stands in JSON alone. Functions, since `$` in a text would mean something to `replaceAll`. */
function fill(text: string, { name, proctor }: TemplateValues): string {
  return text.replaceAll('__name__', () => name).replaceAll('__proctor__', () => JSON.stringify(proctor).slice(1, -1));
}
