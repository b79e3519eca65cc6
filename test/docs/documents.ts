import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');

/** A file of the checkout, by its path from the root. */
export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The pages that a user reads: the README, and every page of `docs/` and `docs/reference/`. */
export function listDocuments(): readonly string[] {
  const pages = ['docs', 'docs/reference'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((file) => `${folder}/${file}`),
  );
  return ['README.md', ...pages.filter((page) => page.endsWith('.md'))];
}

/** The code blocks of a document, by the language that they name. */
export function blocksOf(path: string, language: string): readonly string[] {
  return [...read(path).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, named, code = '']) =>
    named === language ? [code] : [],
  );
}

/** A folder inside of the checkout, where `proctor` is a package, until the test ends. */
export function createFolder(): string {
  const parent = join(ROOT, '.proctor');
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, 'docs-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** What the compiler says of these files with the settings of the repository; nothing when their types are right. */
export async function typeErrors(directory: string, include: readonly string[]): Promise<string> {
  const settings = { extends: join(ROOT, 'tsconfig.json'), include };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(settings));
  const checked = promisify(execFile)(process.execPath, [TSC, '-p', directory], { cwd: directory });
  return checked.then(
    ({ stdout }) => stdout,
    (error: { readonly stdout?: string }) => error.stdout ?? String(error),
  );
}
