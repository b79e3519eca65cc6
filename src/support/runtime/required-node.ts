/** Minimum version, the same as `engines` in package.json. */
const REQUIRED = [20, 19] as const;

/**
 * The reason why this Node.js cannot run the package, in one sentence; undefined when it can. This file imports nothing
 * and uses old syntax only, because old versions of Node.js have to read it.
 */
export function whyNodeIsTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > REQUIRED[0] || (major === REQUIRED[0] && minor >= REQUIRED[1])) return undefined;
  return `Proctor needs Node.js ${REQUIRED.join('.')} or newer, and this is ${version}: install a newer one from https://nodejs.org.`;
}
