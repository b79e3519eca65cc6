import { accessSync, constants } from 'node:fs';

/** Where Debian and its relatives put it. */
const USUAL_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser'] as const;

/**
 * The Chromium to launch: that of `PROCTOR_CHROMIUM`, else the one at a usual place.
 *
 * @throws Error where there is none, saying how to get one.
 */
export function findChromium(variables: Readonly<Record<string, string | undefined>> = process.env): string {
  const named = variables.PROCTOR_CHROMIUM;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`PROCTOR_CHROMIUM names "${named}", which is not a program that can be run. ${WAY_OUT}`);
  }
  const found = USUAL_PATHS.find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(`There is no Chromium at ${USUAL_PATHS.join(' or ')}. ${WAY_OUT}`);
}

const WAY_OUT =
  'Install it (on Debian: apt-get install chromium), or set PROCTOR_CHROMIUM to the path of a Chromium or Chrome';

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
