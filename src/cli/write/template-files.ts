import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Folder of the templates, next to `dist/` or `src/`. */
const ROOT = fileURLToPath(new URL('../../../templates/', import.meta.url));

/** npm drops `.gitignore` files from a package, so templates have them without the dot. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

const packageSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

export interface TemplateValues {
  /** Replaces `__name__` in texts and paths. */
  readonly name: string;
  /** Replaces `__proctor__`: the spec of proctor for npm. */
  readonly proctor: string;
}

/** Packages that a project from this template installs. */
export function readTemplateDependencies(template: string): readonly string[] {
  const { dependencies, devDependencies } = packageSchema.parse(
    JSON.parse(readFileSync(join(ROOT, template, 'package.json'), 'utf8')),
  );
  return Object.keys({ ...dependencies, ...devDependencies });
}

/**
 * Copies a template to a folder, creates the folder if necessary, and fills in the values.
 *
 * @returns the written files, sorted and relative to the folder.
 * @throws Error of the file system, and for a file that exists. Nothing is overwritten.
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

/** Fills in the values. Functions as replacements, since `replaceAll` interprets `$` in a text. */
function fill(text: string, { name, proctor }: TemplateValues): string {
  return text.replaceAll('__name__', () => name).replaceAll('__proctor__', () => JSON.stringify(proctor).slice(1, -1));
}
