import type { z } from 'zod';

/** Describes the first fault of an invalid file, with its place. */
export function describeIssue({ issues }: z.ZodError): string {
  const [issue] = issues;
  if (issue === undefined) return 'It is not of its format.';
  const place = issue.path.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${String(key)}`),
    '',
  );
  return `${place === '' ? 'The file' : place.slice(0, 200)} is not of its format: ${issue.message}.`;
}
