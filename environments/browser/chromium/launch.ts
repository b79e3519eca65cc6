import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { findChromium } from './find-chromium.ts';

const LAUNCH_TIMEOUT_MS = 45_000;

/** A running Chromium and the folder that is its home. Whoever launched it closes it. */
export interface LaunchedChromium {
  readonly browser: Browser;
  /** Never rejects. */
  close(): Promise<void>;
}

/**
 * Launches Chromium so that it can open connections to one address alone.
 *
 * @param origin the only one: it answers as the site and as the browser's proxy (`OwnOriginServer`).
 * @throws Error where there is no Chromium, or it does not start.
 */
export async function launchChromium(origin: string): Promise<LaunchedChromium> {
  const executablePath = findChromium();
  const home = await mkdtemp(join(tmpdir(), 'proctor-browser-'));
  const removeHome = () => remove(home);
  try {
    const browser = await chromium.launch({
      executablePath,
      args: [...confinementFlags(origin), ...QUIET_FLAGS, ...rootFlags()],
      env: variablesOf(home),
      timeout: LAUNCH_TIMEOUT_MS,
      artifactsDir: join(home, 'artifacts'),
      // The environment's own hooks end it; a library that exits the process on a signal would be in their way.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
    const profile = await profileOf(browser);
    const close = async () => {
      await browser.close().catch(() => {});
      // A browser that has ended by itself is closed at once, while its driver still removes the profile.
      await Promise.all([removeHome(), profile && remove(profile)]);
    };
    return { browser, close };
  } catch (cause) {
    await removeHome();
    throw new Error(`Chromium at ${executablePath} did not start: ${String(cause)}`, { cause });
  }
}

async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
}

/** The folder that the driver made for Chromium's profile; undefined where Chromium does not say. */
async function profileOf(browser: Browser): Promise<string | undefined> {
  try {
    const devtools = await browser.newBrowserCDPSession();
    const { commandLine } = await devtools.send('SystemInfo.getInfo');
    await devtools.detach();
    // The path may have spaces.
    return /--user-data-dir=("?)(.+?)\1(?= --| about:|$)/.exec(commandLine)?.[2];
  } catch {
    return undefined;
  }
}

/** What holds below the page: for requests that no script of ours sees, WebSockets and workers among them. */
function confinementFlags(origin: string): string[] {
  return [
    `--proxy-server=${origin}`,
    // Chromium does not ask its proxy for addresses of this machine, unless told to.
    '--proxy-bypass-list=<-loopback>',
    // No name is ever looked up.
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    // WebRTC and QUIC speak UDP, which no proxy sees. The second is the first's name before Chromium 130.
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--disable-quic',
  ];
}

const QUIET_FLAGS = [
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
] as const;

/** Chromium's own sandbox does not work for root, and it refuses to start with it. */
function rootFlags(): string[] {
  return process.getuid?.() === 0 ? ['--no-sandbox'] : [];
}

/** Nothing of this process's variables but what a program needs; what Chromium writes goes to a folder of its own. */
function variablesOf(home: string): Record<string, string> {
  const { PATH = '/usr/bin:/bin', LD_LIBRARY_PATH } = process.env;
  return { PATH, HOME: home, TMPDIR: home, LANG: 'C.UTF-8', TZ: 'UTC', ...(LD_LIBRARY_PATH && { LD_LIBRARY_PATH }) };
}
