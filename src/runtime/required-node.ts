/** The least version, as `engines` of package.json has it. */
const REQUIRED = [20, 19] as const;

/**
 * Why this Node.js cannot run the package, in one sentence; undefined where it can. This file imports nothing and has no
 * newer syntax: it is what a Node.js reads that is too old for the rest.
 */
export function whyNodeIsTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > REQUIRED[0] || (major === REQUIRED[0] && minor >= REQUIRED[1])) return undefined;
  return `Proctor needs Node.js ${REQUIRED.join('.')} or newer, and this is ${version}: install a newer one from https://nodejs.org.`;
}
