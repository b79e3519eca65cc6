import { basename, dirname, join } from 'node:path';

/**
 * Rewrites commands in a text to the way that the user started this one: `npx proctor` for a local package, `proctor`
 * for a global one. If the start is unknown, the text stays the same.
 */
export function asTyped(text: string): string {
  const script = process.argv[1] ?? '';
  if (basename(script) !== 'proctor') return text;
  const isOfProject = dirname(script).endsWith(join('node_modules', '.bin'));
  return isOfProject
    ? text.replace(/(["`'])proctor (?=[a-z])/g, '$1npx proctor ')
    : text.replaceAll('npx proctor ', 'proctor ');
}
