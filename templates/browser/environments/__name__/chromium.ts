import { accessSync, constants } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const USUAL_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The Chromium of this machine: that of PROCTOR_CHROMIUM, else the one at a usual place; undefined where there is none. */
export function findChromium(): string | undefined {
  const named = process.env.PROCTOR_CHROMIUM;
  return (named ? [named] : USUAL_PATHS).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Starts it without a window. Whoever launches it closes it. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error(
      'There is no Chromium: install it (Debian: apt-get install chromium), or set PROCTOR_CHROMIUM to its path.',
    );
  }
  return chromium.launch({
    executablePath,
    // Chromium's own sandbox does not work for root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    // The hooks of the environment close it.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
}
