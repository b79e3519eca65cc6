import { afterEach } from 'vitest';
import { EnvironmentServer } from '../../../src/environment/authoring/environment-server.ts';
import type { ToolSet } from '../../../src/environment/authoring/tool-set.ts';
import { type OpenEnvironment, openEnvironment } from '../../../src/evaluation/testing/open-environment.ts';
import { type LocalSandbox, openLocalSandbox } from './local-sandbox.ts';

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** Opens an environment that has these tools. It is closed after the test. */
export async function openTools(...sets: readonly ToolSet[]): Promise<OpenEnvironment> {
  const open = await openEnvironment(() => {
    const env = new EnvironmentServer({ name: 'tools', version: '1.0.0' });
    for (const set of sets) set.addTo(env);
    return env;
  });
  opened.push(() => open.close());
  return open;
}

/** Opens a local sandbox, which is removed after the test. */
export async function openBox(options: Parameters<typeof openLocalSandbox>[0] = {}): Promise<LocalSandbox> {
  const box = await openLocalSandbox(options);
  opened.push(() => box.stop());
  return box;
}

/** The text of a file in a sandbox. */
export async function textIn(box: LocalSandbox, path: string): Promise<string> {
  return Buffer.from(await box.files.read(path)).toString('utf8');
}
